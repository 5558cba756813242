import { blend } from './canvas.ts'
import { hex, mix, scale } from './color.ts'
import { clamp, smoothstep } from './curves.ts'
import { createRandom } from './noise.ts'
import type { View } from './view.ts'
import { visibleUntil } from './visible-until.ts'

const LAYERS = 6

/** Dunes: a lit side, a side in shadow, a sharp crest between them, and ripples in the foreground. */
export function paintDesert(view: View): void {
  const { canvas, palette, noise, scene, unit, horizon, sun } = view
  const isDark = scene.light === 'night' || scene.light === 'dusk'
  const sand = mix(hex(isDark ? '#6b5a78' : '#e7a55f'), palette.horizon, 0.22)
  const sandShade = mix(hex(isDark ? '#221c38' : '#8a4a3c'), palette.near, 0.25)
  const sunSide = sun.x < canvas.width / 2 ? 1 : -1

  const layers = Array.from({ length: LAYERS }, (_, layer) => {
    const nearness = layer / (LAYERS - 1)
    const random = createRandom(scene.seed + layer * 313)
    const shift = random() * 100
    const foot = horizon + (canvas.height - horizon) * (0.02 + 0.78 * nearness ** 1.3)
    const tall = unit * (5 + 15 * nearness)
    const broad = unit * (30 + 46 * nearness)
    const height = (x: number) => {
      const u = x / broad + shift
      return (1 - Math.abs(2 * noise.at(u, layer * 5.1) - 1)) * 0.75 + noise.at(u * 0.37, 60 + layer) * 0.6
    }
    const crest = Float32Array.from({ length: canvas.width }, (_, x) => foot - height(x) * tall)
    const slopes = Float32Array.from({ length: canvas.width * 3 }, (_, i) => {
      const x = i - canvas.width
      return (height(x + 2) - height(x - 2)) * tall * 0.25 * sunSide
    })
    return { nearness, shift, crest, slopes }
  })
  const limits = visibleUntil(
    layers.map(({ crest }) => crest),
    canvas.height,
  )
  for (const [layer, { nearness, shift, crest, slopes }] of layers.entries()) {
    const limit = limits[layer] as Float32Array
    const slopeAt = (x: number) => slopes[clamp(Math.round(x) + canvas.width, 0, slopes.length - 1)] as number
    for (let x = 0; x < canvas.width; x++) {
      const top = crest[x] as number
      for (let y = Math.max(0, Math.floor(top)); y < (limit[x] as number); y++) {
        const below = y - top
        // The shadow's edge runs from the crest across the face, not straight down.
        const spine = x + below * sunSide * 1.5
        const slope = slopeAt(spine)
        const bend = (noise.fbm(x / (unit * 24) + shift, y / (unit * 17), 2) - 0.5) * 1.5
        const facing = smoothstep(
          -0.3,
          0.35,
          -slope + bend * (0.7 - 0.45 * nearness) * smoothstep(0, unit * 16, below),
        )
        const ripple =
          nearness > 0.55
            ? Math.sin(
                (y * 1.25 + noise.fbm(x / (unit * 9), y / (unit * 6), 2) * unit * 13) /
                  (unit * (0.3 + 0.5 * nearness)),
              )
            : 0
        const tone = mix(sandShade, sand, clamp(facing + ripple * 0.06 * nearness))
        const glint = mix(tone, palette.light, 0.26 * facing * Math.exp(-below / (unit * 5)))
        const far = mix(glint, palette.haze, (1 - nearness) ** 1.3 * 0.78)
        blend(
          canvas,
          x,
          y,
          scale(far, 1 - 0.16 * nearness * smoothstep(0, unit * 30, below)),
          y === Math.floor(top) ? 1 - (top - y) : 1,
        )
      }
    }
  }
}
