import type { ContenderName, ContenderReport } from './settings.ts'

export type Measured = Record<'large' | 'small', Record<ContenderName, ContenderReport[]>>

export interface Summary {
  ofBarePipe: number
  ofBareLoop: number
  rssGrowthMb: number
}

const TITLES: Record<ContenderName, string> = { bare: 'bare', holdfast: 'Holdfast' }

function median(values: number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length / 2
  return ((sorted[Math.floor(middle)] ?? 0) + (sorted[Math.ceil(middle) - 1] ?? 0)) / 2
}

const secondsOf = (reports: ContenderReport[]) => median(reports.map(({ seconds }) => seconds))

export function summarise({ large, small }: Measured): Summary {
  return {
    ofBarePipe: round(secondsOf(large.bare) / secondsOf(large.holdfast), 3),
    ofBareLoop: round(secondsOf(small.bare) / secondsOf(small.holdfast), 3),
    // The worst of all rounds, not the median: a promise about memory is one about its peaks.
    rssGrowthMb: round(Math.max(...large.holdfast.map(({ rssGrowthMb }) => rssGrowthMb)), 1),
  }
}

/** What Holdfast promises, and where it falls short of it. */
export function findShortfalls({ ofBarePipe, ofBareLoop, rssGrowthMb }: Summary): string[] {
  const shortfalls: string[] = []
  if (!(ofBarePipe >= 0.7)) shortfalls.push(`${ofBarePipe} of a bare pipe for a large file, wanted 0.7`)
  if (!(ofBareLoop >= 0.7)) shortfalls.push(`${ofBareLoop} of a bare loop for small files, wanted 0.7`)
  if (!(rssGrowthMb < 64)) shortfalls.push(`${rssGrowthMb} MB more memory for a large file, wanted below 64`)
  return shortfalls
}

export function drawTable(
  measured: Measured,
  loads: Record<keyof Measured, { files: number; bytes: number }>,
) {
  const rows = (Object.keys(loads) as (keyof Measured)[]).flatMap((load) => {
    const { files, bytes } = loads[load]
    const bare = secondsOf(measured[load].bare)
    return (Object.keys(TITLES) as ContenderName[]).map((name) => {
      const reports = measured[load][name]
      const all = reports.map(({ seconds }) => seconds)
      return [
        `${files.toLocaleString('en')} × ${(bytes / 1e6).toLocaleString('en')} MB, ${TITLES[name]}`,
        secondsOf(reports).toFixed(2),
        `${Math.min(...all).toFixed(2)}–${Math.max(...all).toFixed(2)}`,
        ((files * bytes) / secondsOf(reports) / 1e6).toFixed(0),
        (files / secondsOf(reports)).toFixed(1),
        (bare / secondsOf(reports)).toFixed(2),
        median(reports.map(({ cpuSeconds }) => cpuSeconds)).toFixed(2),
        Math.max(...reports.map(({ rssGrowthMb }) => rssGrowthMb)).toFixed(0),
      ]
    })
  })
  const head = ['', 'seconds', 'from–to', 'MB/s', 'files/s', 'of bare', 'CPU s', 'memory +MB']
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

function round(value: number, digits: number): number {
  return Number(value.toFixed(digits))
}
