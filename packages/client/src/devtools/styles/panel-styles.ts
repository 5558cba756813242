/** The frame: colours, button, panel, head, this tab, veil. Text pairs meet WCAG AA on their grounds. */
export const panelStyles = `
:host {
  all: initial;
  color-scheme: light dark;
  --ground: light-dark(#ffffff, #121817);
  --sunken: light-dark(#f6f5f1, #0c1110);
  --raised: light-dark(#ffffff, #1b2322);
  --hover: light-dark(#f0efe9, #1f2927);
  --line: light-dark(#e4e1d9, #27312f);
  --line-strong: light-dark(#c9c4b8, #3f4c49);
  --ink: light-dark(#1a1f1d, #e9eeec);
  --soft: light-dark(#59635f, #a3b0ac);
  --accent: light-dark(#0b6460, #6ad4c3);
  --accent-soft: light-dark(#dcefea, #14332f);
  --good: light-dark(#0f6b4f, #74dcb4);
  --good-soft: light-dark(#ddf2e8, #12352a);
  --warn: light-dark(#6f4700, #f3c871);
  --warn-soft: light-dark(#fbf0d9, #35290d);
  --bad: light-dark(#a3301c, #ffa291);
  --bad-soft: light-dark(#fbe7e1, #3a1d18);
  --calm-soft: light-dark(#eceae4, #232d2b);
  --mono: ui-monospace, "SF Mono", "Cascadia Code", Menlo, Consolas, "DejaVu Sans Mono", monospace;
}
* { box-sizing: border-box; margin: 0; }
.launcher, .panel, .veil {
  position: fixed;
  z-index: 2147483000;
  color: var(--ink);
  font: 13px/1.45 ui-sans-serif, system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif;
}
:focus-visible { outline: 2px solid var(--accent); outline-offset: 1px; }
.launcher {
  display: grid;
  place-items: center;
  width: 48px;
  height: 48px;
  padding: 0;
  border: 1px solid rgb(255 255 255 / 22%);
  border-radius: 50%;
  background: linear-gradient(160deg, #11837b, #0a4f4c);
  color: #eafcf6;
  box-shadow: 0 2px 6px rgb(0 0 0 / 22%), 0 8px 24px rgb(4 50 46 / 32%);
  cursor: pointer;
  transition: translate 140ms ease-out;
}
.launcher:hover { translate: 0 -2px; }
.launcher:focus-visible { outline-offset: 3px; }
.launcher .dot {
  position: absolute;
  right: 0;
  bottom: 0;
  width: 14px;
  height: 14px;
  margin: 0;
  border: 2.5px solid var(--ground);
}
:host([data-position^="bottom"]) .launcher { bottom: 16px; }
:host([data-position^="top"]) .launcher { top: 16px; }
:host([data-position$="right"]) .launcher { right: 16px; }
:host([data-position$="left"]) .launcher { left: 16px; }
.panel {
  right: 0;
  bottom: 0;
  left: 0;
  display: flex;
  flex-direction: column;
  height: var(--height, min(54vh, 460px));
  max-height: calc(100vh - 24px);
  border-top: 1px solid var(--line-strong);
  border-radius: 14px 14px 0 0;
  background: var(--ground);
  box-shadow: 0 -8px 40px rgb(10 25 22 / 18%);
  overflow: hidden;
  animation: rise 180ms ease-out;
}
@keyframes rise { from { translate: 0 16px; opacity: 0; } }
.grip { position: absolute; z-index: 1; inset: 0 0 auto; height: 7px; cursor: ns-resize; touch-action: none; }
.grip:focus-visible { outline-offset: -2px; }
.grip::after {
  content: "";
  position: absolute;
  top: 4px;
  left: calc(50% - 20px);
  width: 40px;
  height: 3px;
  border-radius: 2px;
  background: var(--line-strong);
}
.head {
  display: flex;
  flex: none;
  flex-wrap: wrap;
  align-items: center;
  gap: 0 16px;
  padding: 7px 10px 0 16px;
  border-bottom: 1px solid var(--line);
  background: var(--sunken);
}
.head h2 { display: flex; align-items: center; gap: 7px; color: var(--accent); font-size: 14px; font-weight: 700; letter-spacing: -0.01em; }
[role="tablist"] { display: flex; flex: 1; gap: 2px; min-width: 0; overflow-x: auto; }
[role="tab"] {
  display: flex;
  align-items: center;
  gap: 6px;
  padding: 9px 11px 8px;
  border: 0;
  border-bottom: 2px solid transparent;
  background: none;
  color: var(--soft);
  font: inherit;
  font-weight: 550;
  cursor: pointer;
}
[role="tab"]:hover { color: var(--ink); }
[role="tab"][aria-selected="true"] { border-color: var(--accent); color: var(--ink); }
[role="tab"]:focus-visible { outline-offset: -3px; border-radius: 8px; }
[role="tab"] .count { padding: 0 6px; border-radius: 99px; background: var(--calm-soft); font-size: 11px; font-variant-numeric: tabular-nums; }
.notice { position: absolute; right: 16px; bottom: 14px; max-width: 60%; padding: 7px 14px; border-radius: 9px; background: light-dark(#1a1f1d, #e9eeec); color: light-dark(#ffffff, #121817); box-shadow: 0 6px 24px rgb(0 0 0 / 25%); }
.notice:empty { opacity: 0; pointer-events: none; }
.icon { display: grid; place-items: center; width: 30px; height: 30px; padding: 0; border: 0; border-radius: 8px; background: none; color: var(--soft); cursor: pointer; }
.icon:hover { background: var(--hover); color: var(--ink); }
.body { display: grid; flex: 1; grid-template-columns: 280px minmax(0, 1fr); min-height: 0; }
.this-tab { display: flex; flex-direction: column; gap: 14px; padding: 14px 16px; border-right: 1px solid var(--line); background: var(--sunken); overflow-y: auto; }
.role { padding: 11px 13px; border: 1px solid var(--line); border-radius: 11px; background: var(--raised); color: var(--soft); }
.role[data-role="leader"] { border-color: color-mix(in srgb, var(--good) 35%, transparent); background: var(--good-soft); color: var(--ink); }
.role[data-role="crashed"] { border-color: color-mix(in srgb, var(--bad) 40%, transparent); background: var(--bad-soft); color: var(--ink); }
.role-name { display: flex; justify-content: space-between; align-items: baseline; margin-bottom: 2px; color: var(--ink); font-size: 16px; font-weight: 700; letter-spacing: -0.01em; }
.role[data-role="leader"] .role-name { color: var(--good); }
.role[data-role="crashed"] .role-name { color: var(--bad); }
.role-name code { color: var(--soft); font-size: 12px; font-weight: 500; }
.role .button { margin-top: 9px; }
.facts { display: grid; gap: 7px; }
.facts > div { display: grid; grid-template-columns: 86px minmax(0, 1fr); }
.facts dt { color: var(--soft); }
.facts dd { font-weight: 550; overflow-wrap: anywhere; }
.one-line { display: block; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.facts progress { display: block; width: 100%; margin: 5px 0 3px; }
.switch:disabled { cursor: not-allowed; }
.role[data-role="crashed"] + .facts { opacity: 0.6; }
.simulate { display: flex; align-items: center; gap: 5px; padding-bottom: 4px; }
.simulate > span { margin-right: 5px; color: var(--soft); font-size: 12px; }
h3 { margin-bottom: 7px; color: var(--soft); font-size: 11px; font-weight: 650; letter-spacing: 0.05em; text-transform: uppercase; }
.switch { display: flex; align-items: center; gap: 6px; padding: 4px 11px 4px 9px; border: 1px solid var(--line-strong); border-radius: 99px; background: var(--raised); color: var(--ink); font: inherit; font-size: 12px; font-weight: 550; cursor: pointer; }
.switch:hover:enabled { background: var(--hover); }
.switch[aria-pressed="true"] { border-color: var(--warn); background: var(--warn-soft); color: var(--warn); }
.switch:disabled:not([aria-pressed="true"]) { border-style: dashed; background: none; color: var(--soft); cursor: not-allowed; }
.note { margin-top: auto; color: var(--soft); font-size: 12px; }
.veil { z-index: 2147482999; inset: 0; display: grid; place-items: center; padding-bottom: min(40vh, 380px); background: light-dark(rgb(240 239 235 / 72%), rgb(8 12 11 / 72%)); backdrop-filter: grayscale(1) blur(3px); }
.veil > div { display: grid; justify-items: center; gap: 6px; max-width: 360px; padding: 22px 26px; border: 1px solid var(--line); border-radius: 16px; background: var(--ground); box-shadow: 0 12px 40px rgb(0 0 0 / 18%); text-align: center; }
.veil svg { color: var(--bad); }
.veil strong { font-size: 16px; }
.veil p { color: var(--soft); }
.veil .button { margin-top: 6px; }
@media (max-width: 760px) {
  .panel { height: var(--height, 72vh); }
  .head { padding-left: 8px; }
  .head h2, .simulate > span { display: none; }
  .simulate { order: 1; flex-basis: 100%; padding: 6px 8px 8px; }
  .body { display: block; overflow-y: auto; }
  .this-tab { border-right: 0; border-bottom: 1px solid var(--line); }
}
@media (prefers-reduced-motion: reduce) {
  .panel { animation: none; }
  .launcher { transition: none; }
}
`
