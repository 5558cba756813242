import type { Point } from './instrument-sources.ts'

/** The point in `file` on whose line `text` is written: lines move, names seldom do. */
export function findPoint(points: readonly Point[], file: string, text: string): string {
  const [point, another] = points.filter(({ id, text: line }) => id.startsWith(file) && line.includes(text))
  if (!point || another) {
    throw new Error(`${another ? 'Several awaits' : 'No await'} with "${text}" in ${file}; name it anew.`)
  }
  return point.id
}
