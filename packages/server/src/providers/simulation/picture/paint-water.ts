import { type Color, mix } from './color.ts'
import { clamp, smoothstep } from './curves.ts'
import type { View } from './view.ts'

/** Water from `shore` to the bottom: the picture above upside down, broken by waves, with the sun's path on it. */
export function paintWater(view: View, shore: number, roughness: number): void {
  const { canvas, palette, noise, sun, unit, time, scene } = view
  const { width, height, data } = canvas
  const top = Math.floor(shore)
  const above = data.slice(0, top * width * 3)
  const deep = mix(palette.water, palette.near, 0.25)
  const isDark = scene.light === 'night'

  for (let y = top; y < height; y++) {
    const t = (y - top + 0.5) / (height - top)
    // Perspective: waves shrink towards the shore.
    const distance = 1 / (t + 0.035)
    const v = distance * 7 + time * 1.1
    const swing = unit * roughness * (0.2 + 1.9 * t)
    const depth = 0.12 + 0.5 * t ** 1.3
    for (let x = 0; x < width; x++) {
      const u = ((x - width / 2) / (unit * 16)) * distance ** 0.62
      const broad = noise.fbm(u * 0.9 + time * 0.12, v, 3) - 0.5
      const fine = noise.at(u * 6.5 - time * 0.35, v * 4.1 + time * 0.6) - 0.5
      const wave = broad * 1.35 + fine * 0.65
      const fromX = clamp(Math.round(x + wave * swing * 1.1), 0, width - 1)
      const fromY = clamp(
        Math.round(top - 1 - (y - top) * (1 - 0.12 * roughness) + wave * swing * 2.6),
        0,
        top - 1,
      )
      const from = (fromY * width + fromX) * 3
      const to = (y * width + x) * 3

      const sideways = (x - sun.x) / (unit * (2.6 + 11 * t * (0.6 + roughness * 0.5)))
      const path = Math.exp(-sideways * sideways)
      const spark = smoothstep(0.02, 0.34, wave) * path * (isDark ? 0.55 : 0.8) * (1 - 0.35 * t)
      const crest = smoothstep(0.1, 0.5, wave) * 0.1 * roughness
      const trough = 1 - smoothstep(0, 0.5, -wave) * 0.24 * roughness
      const sheen = (1 - smoothstep(0, 0.09, t)) * 0.22
      for (let c = 0; c < 3; c++) {
        const mirrored = above[from + c] as number
        let value = mirrored * (1 - depth) + (deep[c] as number) * depth
        value = value * trough + ((palette.horizon[c] as number) - value) * (crest + sheen)
        value += ((palette.light[c] as number) - value) * spark
        data[to + c] = value
      }
    }
  }
}

/** A low bank in the foreground, dark against the water. */
export function bankColor({ palette }: View): Color {
  return mix(palette.near, [0, 0, 0], 0.25)
}
