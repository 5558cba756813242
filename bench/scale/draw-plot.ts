/** What is plotted against the number of active tasks. */
export interface PlotPoint {
  tasks: number
  dueLagP50Ms: number
  dueLagP99Ms: number
  claimP50Ms: number
}

const WIDTH = 760
const HEIGHT = 400
const PLOT = { left: 70, right: 560, top: 62, bottom: 340 }

const SERIES: { key: Exclude<keyof PlotPoint, 'tasks'>; name: string; of: string }[] = [
  { key: 'dueLagP99Ms', name: 'due lag, p99', of: 'lag99' },
  { key: 'dueLagP50Ms', name: 'due lag, p50', of: 'lag50' },
  { key: 'claimP50Ms', name: 'one claim, p50', of: 'claim' },
]

/** Its own background, so that it is readable wherever it is shown; the reader's scheme decides which. */
const STYLE = `
  .paper { fill: #ffffff } text { fill: #24292f; font: 13px system-ui, sans-serif } .title { font-size: 16px; font-weight: 600 }
  .soft { fill: #57606a } .grid { stroke: #d0d7de; stroke-width: 1 } .limit { stroke: #cf222e; stroke-width: 1.5; stroke-dasharray: 6 4 }
  .limit-name { fill: #cf222e } polyline { fill: none; stroke-width: 2.5 }
  .lag99 { stroke: #0969da } .lag50 { stroke: #1a7f37 } .claim { stroke: #9a6700; stroke-dasharray: 2 4; stroke-linecap: round }
  circle.lag99 { fill: #0969da } circle.lag50 { fill: #1a7f37 } circle.claim { fill: #9a6700; stroke-dasharray: none }
  @media (prefers-color-scheme: dark) {
    .paper { fill: #0d1117 } text { fill: #e6edf3 } .soft { fill: #9198a1 } .grid { stroke: #30363d }
    .limit { stroke: #ff7b72 } .limit-name { fill: #ff7b72 }
    .lag99 { stroke: #58a6ff } .lag50 { stroke: #56d364 } .claim { stroke: #e3b341 }
    circle.lag99 { fill: #58a6ff } circle.lag50 { fill: #56d364 } circle.claim { fill: #e3b341 }
  }`

/** Both axes logarithmic. `limitMs` is the line that the p99 must stay below. */
export function drawPlot(points: readonly PlotPoint[], { limitMs }: { limitMs: number }): string {
  const tasks = points.map((point) => point.tasks)
  const x = scale(Math.min(...tasks), Math.max(...tasks), PLOT.left, PLOT.right)
  const y = scale(1, limitMs * 2, PLOT.bottom, PLOT.top)
  const described = points.map((point) => `${short(point.tasks)} tasks: ${point.dueLagP99Ms} ms`).join(', ')

  const columns = points.map(
    (
      point,
    ) => `<line class="grid" x1="${x(point.tasks)}" x2="${x(point.tasks)}" y1="${PLOT.top}" y2="${PLOT.bottom}"/>
  <text x="${x(point.tasks)}" y="${PLOT.bottom + 20}" text-anchor="middle">${short(point.tasks)}</text>`,
  )
  const rows = [1, 10, 100, 1_000]
    .filter((ms) => ms <= limitMs)
    .map(
      (ms) => `<line class="grid" x1="${PLOT.left}" x2="${PLOT.right}" y1="${y(ms)}" y2="${y(ms)}"/>
  <text x="${PLOT.left - 10}" y="${y(ms) + 4}" text-anchor="end">${ms < 1_000 ? `${ms} ms` : `${ms / 1_000} s`}</text>`,
    )
  const lines = SERIES.map(
    ({
      key,
      of,
    }) => `<polyline class="${of}" points="${points.map((point) => `${x(point.tasks)},${y(point[key])}`).join(' ')}"/>
  ${points.map((point) => `<circle class="${of}" cx="${x(point.tasks)}" cy="${y(point[key])}" r="3.5"/>`).join('')}`,
  )
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" width="${WIDTH}" height="${HEIGHT}" role="img" aria-labelledby="title what">
  <title id="title">Due lag against the number of active tasks</title>
  <desc id="what">The 99th percentile of the due lag: ${described}.</desc>
  <style>${STYLE}
  </style>
  <rect class="paper" width="${WIDTH}" height="${HEIGHT}" rx="8"/>
  <text class="title" x="24" y="32">How late a due task is polled, by the number of active tasks</text>
  ${columns.join('\n  ')}
  ${rows.join('\n  ')}
  <line class="limit" x1="${PLOT.left}" x2="${PLOT.right}" y1="${y(limitMs)}" y2="${y(limitMs)}"/>
  <text class="limit-name" x="${PLOT.right + 14}" y="${y(limitMs) + 4}">p99 must stay below</text>
  ${lines.join('\n  ')}
  ${placeNames(points, y).join('\n  ')}
  <text class="soft" x="${(PLOT.left + PLOT.right) / 2}" y="${PLOT.bottom + 44}" text-anchor="middle">active tasks (both axes logarithmic)</text>
</svg>
`
}

/** At the end of each line, at least a line of text apart. */
function placeNames(points: readonly PlotPoint[], y: (ms: number) => number): string[] {
  const last = points.at(-1)
  if (!last) return []
  let above = Number.NEGATIVE_INFINITY
  return SERIES.map((series) => ({ ...series, at: y(last[series.key]) }))
    .toSorted((a, b) => a.at - b.at)
    .map(({ name, key, at }) => {
      above = Math.max(at, above + 18)
      return `<text x="${PLOT.right + 14}" y="${above + 4}">${name}: ${last[key]} ms</text>`
    })
}

function scale(from: number, to: number, start: number, end: number): (value: number) => number {
  const length = Math.log(to / from)
  return (value) =>
    Math.round((start + ((end - start) * Math.log(Math.max(from, value) / from)) / length) * 10) / 10
}

function short(tasks: number): string {
  return tasks >= 1e6 ? `${tasks / 1e6}M` : `${tasks / 1e3}k`
}
