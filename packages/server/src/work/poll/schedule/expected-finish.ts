import type { DurationCurve } from './duration-curve.ts'
import { LONGEST_MS } from './duration-histogram.ts'

/** So few have ever taken longer that how much longer is anybody's guess. */
const LEFT_TO_CHANCE = 0.01
/** Then: a fifth of what it has taken so far. */
const GUESS = 1.2
/** 2 h halved so often is 7 ms. */
const HALVINGS = 20

/** The age by which half of the tasks that are still unfinished at `ageMs` will be done: the estimate shown to users. */
export function expectedFinish(curve: DurationCurve, ageMs: number): number {
  const done = curve.finishedBy(ageMs)
  const all = curve.finishedBy(LONGEST_MS)
  const left = all - done
  if (left < LEFT_TO_CHANCE || ageMs >= LONGEST_MS) return Math.round(ageMs * GUESS)
  let from = Math.max(0, ageMs)
  let to = LONGEST_MS
  for (let halving = 0; halving < HALVINGS; halving += 1) {
    const middle = (from + to) / 2
    if (curve.finishedBy(middle) < done + left / 2) from = middle
    else to = middle
  }
  return Math.round(to)
}
