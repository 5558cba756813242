import type { PassReport } from './measure-passes.ts'
import { CONTENDERS, type ContenderName } from './settings.ts'

export interface Summary {
  ofBare: number
  ofBestPeer: number
  /** Of the job queues, run by their own workers as their documentation has it. */
  ofBestWorker: number
  walBytesPerPoll: number
  statementsPerPoll: number
  pollsPerSecond: Record<ContenderName, number>
}

export type Reports = Record<ContenderName, PassReport[]>

const WORKERS: ContenderName[] = ['bullmq', 'pgBoss', 'graphileWorker']
const PEERS: ContenderName[] = [...WORKERS, 'pgBossBulk', 'naive']
const TITLES: Record<ContenderName, string> = {
  bare: 'bare HTTP loop',
  holdfast: 'Holdfast',
  bullmq: 'BullMQ',
  pgBoss: 'pg-boss',
  pgBossBulk: 'pg-boss in bulk, by hand',
  graphileWorker: 'graphile-worker',
  naive: 'select all, update each',
}

function median(values: number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length / 2
  return ((sorted[Math.floor(middle)] ?? 0) + (sorted[Math.ceil(middle) - 1] ?? 0)) / 2
}

function per(reports: PassReport[], figure: (report: PassReport) => number | null): number | null {
  const values = reports.map((report) => {
    const value = figure(report)
    return value === null ? null : value / report.polls
  })
  return values.some((value) => value === null) ? null : median(values as number[])
}

const speedOf = (reports: PassReport[]) => median(reports.map(({ polls, seconds }) => polls / seconds))

export function summarise(reports: Reports): Summary {
  const speed = Object.fromEntries(CONTENDERS.map((name) => [name, speedOf(reports[name])])) as Record<
    ContenderName,
    number
  >
  return {
    ofBare: round(speed.holdfast / speed.bare, 3),
    ofBestPeer: round(speed.holdfast / Math.max(...PEERS.map((name) => speed[name])), 2),
    ofBestWorker: round(speed.holdfast / Math.max(...WORKERS.map((name) => speed[name])), 2),
    walBytesPerPoll: round(per(reports.holdfast, ({ walBytes }) => walBytes) ?? 0, 0),
    statementsPerPoll: round(per(reports.holdfast, ({ statements }) => statements) ?? 0, 5),
    pollsPerSecond: Object.fromEntries(CONTENDERS.map((name) => [name, Math.round(speed[name])])) as Record<
      ContenderName,
      number
    >,
  }
}

/** What Holdfast promises, and where it falls short of it. */
export function findShortfalls(summary: Summary, reports: Reports): string[] {
  const shortfalls: string[] = []
  if (!(summary.ofBare >= 0.5)) shortfalls.push(`${summary.ofBare} of the bare loop, wanted 0.5`)
  if (!(summary.ofBestPeer >= 2.5)) shortfalls.push(`${summary.ofBestPeer} times the best peer, wanted 2.5`)
  if (!(summary.walBytesPerPoll <= 450)) {
    shortfalls.push(`${summary.walBytesPerPoll} bytes of WAL per poll, wanted at most 450`)
  }
  if (!(summary.statementsPerPoll <= 0.01)) {
    shortfalls.push(`${summary.statementsPerPoll} statements per poll, wanted at most 0.01`)
  }
  for (const name of CONTENDERS) {
    if (reports[name].some(({ checkpoints }) => checkpoints)) {
      shortfalls.push(`a checkpoint ran during ${TITLES[name]}, so its figures do not count`)
    }
  }
  return shortfalls
}

export function drawTable(reports: Reports): string {
  const bare = reports.bare.length > 0 ? speedOf(reports.bare) : Number.NaN
  const rows = CONTENDERS.filter((name) => reports[name].length > 0).map((name) => {
    const own = reports[name]
    const speeds = own.map(({ polls, seconds }) => polls / seconds)
    const statements = per(own, (report) => report.statements)
    const wal = per(own, (report) => report.walBytes)
    return [
      TITLES[name],
      Math.round(speedOf(own)).toLocaleString('en'),
      `${Math.round(Math.min(...speeds)).toLocaleString('en')}–${Math.round(Math.max(...speeds)).toLocaleString('en')}`,
      (speedOf(own) / bare).toFixed(2),
      statements === null ? '–' : statements.toFixed(4),
      wal === null ? '–' : wal.toFixed(0),
      microseconds(per(own, (report) => report.cpuSeconds)),
      microseconds(per(own, (report) => report.storeCpuSeconds)),
      microseconds(per(own, (report) => report.providerCpuSeconds)),
    ]
  })
  const head = [
    ...['', 'polls/s', 'from–to', 'of bare', 'statements/poll', 'WAL bytes/poll'],
    ...['CPU µs/poll: own', 'store', 'provider'],
  ]
  const table = [head, ...rows]
  const widths = head.map((_, column) => Math.max(...table.map((row) => row[column]?.length ?? 0)))
  return table
    .map((row) =>
      row
        .map((cell, column) =>
          column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0),
        )
        .join('  '),
    )
    .join('\n')
}

function microseconds(seconds: number | null): string {
  return ((seconds ?? 0) * 1e6).toFixed(0)
}

function round(value: number, digits: number): number {
  return Number(value.toFixed(digits))
}
