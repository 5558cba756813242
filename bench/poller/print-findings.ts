import type { Finding } from './finding.ts'

/** One line each, in columns. */
export function printFindings(found: readonly Finding[]): void {
  const lines = found.map(({ what, measured, wanted, holds }) => [
    what,
    String(measured),
    wanted,
    holds ? '' : 'MISSED',
  ])
  const widths = [0, 1, 2, 3].map((column) => Math.max(0, ...lines.map((line) => line[column]?.length ?? 0)))
  for (const line of lines) {
    console.log(
      `  ${line
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd()}`,
    )
  }
}
