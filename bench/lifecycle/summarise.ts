import { median, percentile } from '../stream/percentile.ts'
import type { LifeReport } from './run-life.ts'
import { CONTENDERS, type ContenderName } from './settings.ts'

export type LifeReports = Record<ContenderName, LifeReport[]>

export interface Summary {
  perSecond: number | null
  ofBefore: number | null
  ofPeer: number | null
  ofBullmq: number | null
  ofLimit: number | null
  cpuOfLimit: number | null
  createP50Ms: number | null
  createP99Ms: number | null
  aloneP50Ms: number | null
  statementsPerTask: number | null
  walBytesPerTask: number | null
  idleStatementsPerSecond: number | null
}

const TITLES: Record<ContenderName, string> = {
  now: 'Holdfast',
  before: 'Holdfast before',
  'pg-boss': 'by hand on pg-boss',
  bullmq: 'by hand on BullMQ',
  bare: 'bare process',
}

const rateOf = ({ tasks, seconds }: LifeReport) => tasks / seconds
const cpuMsOf = ({ tasks, cpuSeconds, storeCpuSeconds }: LifeReport) =>
  ((cpuSeconds + storeCpuSeconds) * 1_000) / tasks

/** The middle of the rounds; NaN for a contender that did not run. */
function middle(reports: readonly LifeReport[], figure: (report: LifeReport) => number): number {
  return median(reports.map(figure))
}

/** Figures of Holdfast, and its ratio to the others. Null: not measured, because a contender was left out. */
export function summarise(reports: LifeReports, idleStatementsPerSecond: number): Summary {
  const { now } = reports
  const rate = middle(now, rateOf)
  const of = (name: ContenderName) => rounded(rate / middle(reports[name], rateOf), 2)
  const alone = now.flatMap(({ aloneMs }) => aloneMs)
  const open = now.flatMap(({ openMs }) => openMs)
  return {
    perSecond: rounded(rate, 0),
    ofBefore: of('before'),
    ofPeer: of('pg-boss'),
    ofBullmq: of('bullmq'),
    ofLimit: of('bare'),
    cpuOfLimit: rounded(middle(now, cpuMsOf) / middle(reports.bare, cpuMsOf), 2),
    createP50Ms: rounded(percentile(open, 0.5), 1),
    createP99Ms: rounded(percentile(open, 0.99), 1),
    aloneP50Ms: rounded(percentile(alone, 0.5), 1),
    statementsPerTask: rounded(
      middle(now, ({ statements, tasks }) => statements / tasks),
      2,
    ),
    walBytesPerTask: rounded(
      middle(now, ({ walBytes, tasks }) => walBytes / tasks),
      0,
    ),
    idleStatementsPerSecond: rounded(idleStatementsPerSecond, 1),
  }
}

/** What is wanted of Holdfast, and where it falls short. What was not measured is not judged. */
export function findShortfalls(summary: Summary): string[] {
  const wanted: [name: keyof Summary, isLeast: boolean, limit: number][] = [
    ['ofLimit', true, 0.6],
    ['cpuOfLimit', false, 1.8],
    ['ofPeer', true, 1],
    ['createP50Ms', false, 15],
    ['createP99Ms', false, 80],
    ['aloneP50Ms', false, 3.5],
    ['statementsPerTask', false, 4],
    ['walBytesPerTask', false, 6_500],
    ['idleStatementsPerSecond', false, 2],
  ]
  return wanted.flatMap(([name, isLeast, limit]) => {
    const value = summary[name]
    if (value === null || (isLeast ? value >= limit : value <= limit)) return []
    return [`${name} is ${value}, wanted ${isLeast ? 'at least' : 'at most'} ${limit}`]
  })
}

export function drawLives(reports: LifeReports): string {
  const limit = middle(reports.bare, rateOf)
  const rows = CONTENDERS.filter((name) => reports[name].length > 0).map((name) => {
    const own = reports[name]
    const rates = own.map(rateOf)
    const ms = (part: number, times: number[]) => text(percentile(times, part), 1)
    const all = (times: (report: LifeReport) => number[]) => own.flatMap(times)
    return [
      TITLES[name],
      text(median(rates), 0),
      `${text(Math.min(...rates), 0)}–${text(Math.max(...rates), 0)}`,
      text(median(rates) / limit, 2),
      ...[
        ({ cpuSeconds }: LifeReport) => cpuSeconds,
        ({ storeCpuSeconds }: LifeReport) => storeCpuSeconds,
        ({ vendorCpuSeconds }: LifeReport) => vendorCpuSeconds,
      ].map((seconds) =>
        text(
          middle(own, (report) => (seconds(report) * 1_000) / report.tasks),
          2,
        ),
      ),
      text(
        middle(own, ({ statements, tasks }) => statements / tasks),
        2,
      ),
      text(
        middle(own, ({ walBytes, tasks }) => walBytes / tasks),
        0,
      ),
      ms(
        0.5,
        all(({ aloneMs }) => aloneMs),
      ),
      `${ms(
        0.5,
        all(({ createMs }) => createMs),
      )} / ${ms(
        0.99,
        all(({ createMs }) => createMs),
      )}`,
      `${ms(
        0.5,
        all(({ openMs }) => openMs),
      )} / ${ms(
        0.99,
        all(({ openMs }) => openMs),
      )}`,
    ]
  })
  return drawTable([
    [
      ...['', 'a second', 'from–to', 'of bare', 'CPU ms: own', 'store', 'vendor', 'statements', 'WAL bytes'],
      ...['create ms: alone', '64 callers p50 / p99', 'at 300 a second p50 / p99'],
    ],
    ...rows,
  ])
}

/** What a feature costs on top of the plain life. */
export function drawExtras(extras: ReadonlyMap<string, LifeReport>): string {
  const plain = [...extras.values()][0]
  const statementsOf = ({ statements, tasks }: LifeReport) => statements / tasks
  const rows = [...extras].map(([name, report]) => [
    name,
    text(rateOf(report), 0),
    text(statementsOf(report), 2),
    text(cpuMsOf(report), 2),
    ...(plain && report !== plain
      ? [
          signed(statementsOf(report) - statementsOf(plain)),
          signed(cpuMsOf(report) - cpuMsOf(plain)),
          text(rateOf(report) / rateOf(plain), 2),
        ]
      : ['', '', '']),
  ])
  const head = ['', 'a second', 'statements', 'CPU ms', 'more statements', 'more CPU ms', 'of plain']
  return drawTable([head, ...rows])
}

function drawTable(table: string[][]): string {
  const widths = (table[0] ?? []).map((_, column) =>
    Math.max(...table.map((row) => row[column]?.length ?? 0)),
  )
  const pad = (cell: string, column: number) =>
    column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0)
  return table.map((row) => row.map(pad).join('  ').trimEnd()).join('\n')
}

function text(value: number, digits: number): string {
  if (!Number.isFinite(value)) return '–'
  return value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits })
}

function signed(value: number): string {
  return `${value < 0 ? '' : '+'}${value.toFixed(2)}`
}

function rounded(value: number, digits: number): number | null {
  return Number.isFinite(value) ? Number(value.toFixed(digits)) : null
}
