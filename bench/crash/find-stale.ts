import type { Point } from './instrument-sources.ts'
import { findIdleGlobs } from './left-out.ts'
import { SCENARIOS } from './scenarios.ts'
import { findIdlePlaces } from './unreached.ts'

/**
 * Each name in the lists of this folder that matches nothing any more. After a file was moved or an await renamed, such
 * a name would shrink the proof in silence.
 */
export function findStale(files: readonly string[], points: readonly Point[]): string[] {
  const isIdle = (start: string) => !points.some(({ id }) => id.startsWith(start))
  return [
    ...findIdleGlobs(files).map((glob) => `left-out.ts: no file matches "${glob}"`),
    ...findIdlePlaces(points).map((place) => `unreached.ts: no await matches ${place}`),
    ...SCENARIOS.flatMap(({ name, armAt, around = [] }) =>
      [armAt, ...around].filter(isIdle).map((start) => `scenario "${name}": no await is in "${start}"`),
    ),
  ]
}
