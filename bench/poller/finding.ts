/** One thing that was measured, and whether it is as promised. */
export interface Finding {
  /** Which promise it belongs to, such as `spread`. */
  about: string
  what: string
  measured: number | string
  wanted: string
  holds: boolean
}

/** Collects what one scenario finds out. */
export function createFindings(about: string) {
  const all: Finding[] = []
  const add = (what: string, measured: number | string, wanted: string, holds: boolean) => {
    all.push({ about, what, measured, wanted, holds })
  }
  return {
    all,
    atMost: (what: string, value: number, limit: number) =>
      add(what, rounded(value), `≤ ${rounded(limit)}`, value <= limit),
    atLeast: (what: string, value: number, limit: number) =>
      add(what, rounded(value), `≥ ${rounded(limit)}`, value >= limit),
    equal: (what: string, value: number | string, wanted: number | string) =>
      add(what, value, String(wanted), value === wanted),
  }
}

export function misses(findings: readonly Finding[]): Finding[] {
  return findings.filter(({ holds }) => !holds)
}

function rounded(value: number): number {
  return Math.round(value * 100) / 100
}
