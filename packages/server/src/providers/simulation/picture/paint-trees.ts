import { blend, type Canvas } from './canvas.ts'
import type { Color } from './color.ts'
import { clamp } from './curves.ts'

/** A conifer that stands with its foot at x, y. */
export function paintTree(
  canvas: Canvas,
  x: number,
  y: number,
  tall: number,
  color: Color,
  random: () => number,
): void {
  const tiers = 5 + Math.floor(random() * 4)
  const spread = tall * (0.17 + random() * 0.07)
  const phase = random()
  const top = y - tall
  for (let row = Math.max(0, Math.floor(top)); row < Math.min(canvas.height, y); row++) {
    const down = (row - top) / tall
    // Boughs widen towards the ground, and each tier sweeps out and starts again further in.
    const tier = (down * tiers + phase) % 1
    const half = down > 0.94 ? tall * 0.02 : spread * down ** 0.9 * (0.45 + 0.55 * tier) + 0.25
    const from = Math.floor(x - half)
    for (let column = from; column <= x + half + 1; column++) {
      blend(canvas, column, row, color, clamp(half - Math.abs(column - x) + 0.5))
    }
  }
}
