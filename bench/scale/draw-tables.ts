import type { WorkStorage } from './read-work-storage.ts'
import type { ScaleReport } from './run-scale.ts'
import type { WindowReport } from './scale-run.ts'

const HEAD = [
  ...['', 'polls/s', 'lag p50', 'p99', 'max ms', 'answered p99', 'claim p50', 'p99 ms', 'rows/claim'],
  ...['rss MB', 'table MB', 'due MB', 'key MB', 'dead rows', 'vacuums', 'WAL B/poll', 'CPU'],
]

/** A line per window and one for all of it. */
export function drawRun(report: ScaleReport): string {
  const { run, windows, total, before, postgresCpuSeconds } = report
  const seconds = run.windowMs / 1000
  const rows = windows.map((window, index) =>
    rowOf(`${index + 1}`, window, window.storage, windows[index - 1]?.storage ?? before, seconds),
  )
  const last = windows.at(-1)?.storage ?? before
  rows.push(rowOf('all', total, last, before, seconds * run.windows))
  const checkpoints = last.checkpoints - before.checkpoints
  return [
    `${run.name}: ${run.tasks.toLocaleString('en')} tasks, each due every ${run.intervalMs / 1000} s`,
    drawColumns([HEAD, ...rows]),
    `PostgreSQL used ${(postgresCpuSeconds / (seconds * run.windows)).toFixed(2)} cores; checkpoints begun: ${checkpoints}`,
  ].join('\n')
}

function rowOf(
  title: string,
  window: WindowReport,
  storage: WorkStorage,
  before: WorkStorage,
  seconds: number,
): string[] {
  return [
    title,
    (window.polls / seconds).toFixed(0),
    ...[window.dueLagP50Ms, window.dueLagP99Ms, window.dueLagMaxMs, window.answeredP99Ms].map(String),
    ...[window.claimP50Ms, window.claimP99Ms].map(String),
    (window.polls / Math.max(1, window.claims)).toFixed(0),
    String(window.rssMb),
    ...[storage.tableBytes, storage.dueIndexBytes, storage.keyIndexBytes].map((bytes) =>
      (bytes / 2 ** 20).toFixed(1),
    ),
    String(storage.deadRows),
    String(storage.vacuums - before.vacuums),
    ((storage.walBytes - before.walBytes) / Math.max(1, window.polls)).toFixed(0),
    (window.cpuSeconds / seconds).toFixed(2),
  ]
}

export function drawGrowth(reports: ScaleReport[]): string {
  const rows = reports.map(({ run, total }) => [
    run.tasks.toLocaleString('en'),
    (total.polls / ((run.windowMs * run.windows) / 1000)).toFixed(0),
    ...[total.dueLagP50Ms, total.dueLagP99Ms, total.claimP50Ms, total.claimP99Ms].map(String),
  ])
  return drawColumns([
    ['active tasks', 'polls/s', 'lag p50 ms', 'lag p99 ms', 'claim p50 ms', 'claim p99 ms'],
    ...rows,
  ])
}

function drawColumns(table: string[][]): string {
  const widths = (table[0] ?? []).map((_, column) =>
    Math.max(...table.map((row) => row[column]?.length ?? 0)),
  )
  return table
    .map((row) => row.map((cell, column) => cell.padStart(widths[column] ?? 0)).join('  '))
    .join('\n')
}
