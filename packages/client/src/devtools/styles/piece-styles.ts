/** What the views are made of. */
export const pieceStyles = `
.view { min-width: 0; padding: 14px 16px; overflow: auto; }
.view:focus-visible { outline-offset: -3px; }
.view > h3 { margin-top: 20px; }
small { display: block; color: var(--soft); font-size: 12px; font-weight: 400; }
code, time { font-family: var(--mono); font-size: 12px; }
.dot { display: inline-block; width: 8px; height: 8px; margin-right: 6px; border-radius: 50%; background: var(--soft); }
.dot[data-tone="good"] { background: light-dark(#139a74, #4fd3a4); }
.dot[data-tone="calm"] { background: light-dark(#6f8ba3, #8fb0cc); }
.dot[data-tone="warn"] { background: light-dark(#c78a17, #f0bd55); }
.dot[data-tone="bad"] { background: light-dark(#cf4a31, #ff8f7a); }
.badge { display: inline-block; padding: 1px 8px; border-radius: 99px; background: var(--calm-soft); font-size: 12px; font-weight: 600; white-space: nowrap; }
.badge[data-tone="good"] { background: var(--good-soft); color: var(--good); }
.badge[data-tone="warn"] { background: var(--warn-soft); color: var(--warn); }
.badge[data-tone="bad"] { background: var(--bad-soft); color: var(--bad); }
.badge + .badge { margin-left: 4px; }
.button { display: inline-flex; align-items: center; gap: 5px; padding: 3px 10px; border: 1px solid var(--line-strong); border-radius: 7px; background: var(--raised); color: var(--ink); font: inherit; font-size: 12px; font-weight: 550; cursor: pointer; }
.button:hover { background: var(--hover); }
.button[aria-pressed="true"] { border-color: var(--warn); background: var(--warn-soft); color: var(--warn); }
td .button + .button { margin-left: 5px; }
.link { padding: 1px 2px; border: 0; border-radius: 4px; background: none; color: var(--accent); font: inherit; text-align: start; cursor: pointer; white-space: nowrap; }
.link:hover { text-decoration: underline; }
.bar { display: flex; align-items: center; gap: 8px; margin-bottom: 10px; }
.bar .count { flex: 1; color: var(--soft); font-variant-numeric: tabular-nums; }
.search { width: min(280px, 60%); padding: 5px 10px; border: 1px solid var(--line-strong); border-radius: 8px; background: var(--raised); color: var(--ink); font: inherit; }
.search::placeholder { color: var(--soft); }
table { width: 100%; border-collapse: collapse; font-variant-numeric: tabular-nums; }
th { position: sticky; z-index: 1; top: -14px; padding: 0 14px 7px 0; border-bottom: 1px solid var(--line); background: var(--ground); color: var(--soft); font-size: 12px; font-weight: 550; text-align: start; }
td { padding: 8px 14px 8px 0; border-bottom: 1px solid var(--line); vertical-align: top; }
tr[data-chosen] td { background: var(--accent-soft); }
tr[data-presence="silent"] { opacity: 0.85; }
th:first-child, td:first-child { padding-left: 8px; }
.split:has(.details) [aria-label="Tasks"] :is(th, td):nth-child(n + 5):nth-child(-n + 7) { display: none; }
.nowrap { white-space: nowrap; }
.number { font-variant-numeric: tabular-nums; }
.why { min-width: 180px; color: var(--soft); }
.path { max-width: 150px; overflow: hidden; text-overflow: ellipsis; }
td progress { width: 84px; margin-right: 8px; vertical-align: middle; }
progress { height: 6px; border: 0; border-radius: 3px; background: var(--calm-soft); appearance: none; overflow: hidden; }
progress::-webkit-progress-bar { background: var(--calm-soft); }
progress::-webkit-progress-value { border-radius: 3px; background: var(--accent); }
progress::-moz-progress-bar { background: var(--accent); }
.history { padding: 0; list-style: none; }
.history li { display: flex; align-items: baseline; padding: 3px 0; }
.history time { flex: none; margin-right: 12px; color: var(--soft); }
.history .dot { flex: none; }
.split { display: flex; gap: 16px; align-items: flex-start; }
.list { flex: 1; min-width: 0; overflow-x: auto; }
.details { position: sticky; top: 0; flex: 0 1 44%; min-width: 260px; border: 1px solid var(--line); border-radius: 10px; background: var(--sunken); overflow: hidden; }
.details header { display: flex; gap: 6px; align-items: center; padding: 8px 8px 8px 12px; border-bottom: 1px solid var(--line); }
.details h3 { flex: 1; min-width: 0; margin: 0; color: var(--ink); font-size: 13px; letter-spacing: 0; text-transform: none; overflow-wrap: anywhere; }
pre { max-height: 320px; padding: 10px 12px; line-height: 1.5; white-space: pre-wrap; overflow: auto; overflow-wrap: anywhere; }
pre .name { color: var(--accent); }
pre .text { color: light-dark(#7a4a06, #e6c48a); }
pre .other { color: light-dark(#8a2f5d, #f0a3cb); }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(150px, 1fr)); gap: 10px; margin-bottom: 16px; }
.tiles > div { padding: 9px 12px; border: 1px solid var(--line); border-radius: 10px; background: var(--sunken); }
.tiles dt { color: var(--soft); font-size: 12px; }
.tiles dd { font-weight: 600; overflow-wrap: anywhere; }
.tiles small { margin-top: 2px; }
.empty { display: grid; place-items: center; gap: 3px; padding: 36px 16px; color: var(--soft); text-align: center; }
.empty strong { color: var(--ink); font-size: 14px; }
@media (max-width: 760px) {
  .view { overflow: visible; }
  .split { flex-direction: column; align-items: stretch; }
  .list, .view { overflow-x: auto; }
  th { position: static; }
}
`
