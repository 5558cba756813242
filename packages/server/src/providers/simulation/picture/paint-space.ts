import { blend, glow } from './canvas.ts'
import { type Color, hex, mix, scale } from './color.ts'
import { clamp, length, smoothstep } from './curves.ts'
import { createRandom } from './noise.ts'
import { paintStars } from './paint-sky.ts'
import type { View } from './view.ts'

const NEBULAS: [string, string][] = [
  ['#ff4f8b', '#3f6bff'],
  ['#ff8a3c', '#7a3cff'],
  ['#2ee6c8', '#6a3cff'],
  ['#ffb14a', '#e0355f'],
]
const PLANETS: [string, string, string][] = [
  ['#f2d3a0', '#c98a55', '#8a4f3c'],
  ['#9ad8e8', '#3f86b8', '#1d3f78'],
  ['#e8a0b8', '#a04f8a', '#4f2a6a'],
  ['#ffd08a', '#e8743f', '#8a2f2a'],
]

/** Deep space: a nebula, stars, and a planet with its ring. */
export function paintSpace(view: View): void {
  const { canvas, scene, noise, unit, time } = view
  const random = createRandom(scene.seed ^ 0x5bace)
  const [first, second] = NEBULAS[Math.floor(random() * NEBULAS.length)] as [string, string]
  const warm = scene.tint ?? hex(first)
  const cold = hex(second)
  const shift = random() * 90
  for (let y = 0; y < canvas.height; y++) {
    for (let x = 0; x < canvas.width; x++) {
      const u = x / (unit * 42) + shift
      const v = y / (unit * 42)
      const bend = noise.fbm(u * 0.8 + time * 0.01, v * 0.8, 2)
      const gas = noise.fbm(u + bend * 1.5, v + bend * 1.1 + 30, 4)
      const dust = noise.ridged(u * 1.4 + bend, v * 1.4 + 60, 3)
      const body = smoothstep(0.42, 0.86, gas)
      blend(canvas, x, y, scale(mix(cold, [0.02, 0.02, 0.07], 0.86), 0.8), 1)
      glow(canvas, x, y, mix(cold, warm, smoothstep(0.35, 0.7, bend)), body * 0.85)
      glow(canvas, x, y, [1, 0.9, 0.85], smoothstep(0.7, 0.95, gas) * 0.35)
      blend(canvas, x, y, [0.01, 0.01, 0.05], smoothstep(0.62, 0.95, dust) * 0.5)
    }
  }
  paintStars({ ...view, horizon: canvas.height * 1.4 }, 700)
  const planet = PLANETS[Math.floor(random() * PLANETS.length)] as [string, string, string]
  const x = canvas.width * (random() < 0.5 ? 0.3 : 0.68)
  paintPlanet(view, {
    x,
    y: canvas.height * (0.42 + random() * 0.16),
    radius: unit * (17 + random() * 7),
    colors: planet,
    tilt: -0.35,
    ring: true,
  })
  paintPlanet(view, {
    x: canvas.width - x * 0.9,
    y: canvas.height * 0.2,
    radius: unit * 4.5,
    colors: PLANETS[1] as [string, string, string],
    tilt: 0.4,
    ring: false,
  })
}

interface Planet {
  x: number
  y: number
  radius: number
  colors: [string, string, string]
  tilt: number
  ring: boolean
}

function paintPlanet({ canvas, noise }: View, { x: cx, y: cy, radius, colors, tilt, ring }: Planet): void {
  const [light, middle, dark] = colors.map(hex) as [Color, Color, Color]
  const cos = Math.cos(tilt)
  const sin = Math.sin(tilt)
  const reach = radius * 2.5
  for (let y = Math.max(0, Math.floor(cy - reach)); y < Math.min(canvas.height, cy + reach); y++) {
    for (let x = Math.max(0, Math.floor(cx - reach)); x < Math.min(canvas.width, cx + reach); x++) {
      const dx = (x - cx) / radius
      const dy = (y - cy) / radius
      const along = dx * cos + dy * sin
      const across = -dx * sin + dy * cos
      const distance = length(dx, dy)
      glow(
        canvas,
        x,
        y,
        light,
        0.5 * Math.exp(-Math.max(0, distance - 1) * 9) * smoothstep(1.2, -0.6, dx + dy),
      )

      const cover = clamp((1 - distance) * radius + 0.5)
      if (cover > 0) {
        const z = Math.sqrt(Math.max(0, 1 - distance * distance))
        const wobble = noise.fbm(along * 1.6 + 7, across * 5, 4) - 0.5
        const band = noise.fbm(0.5, across * 4.2 + wobble * 0.9 + 20, 4)
        const surface = mix(
          mix(dark, middle, smoothstep(0.25, 0.55, band)),
          light,
          smoothstep(0.5, 0.78, band),
        )
        // Lit from the upper left, with a soft edge of night and a thin bright rim of air.
        const sunlight = smoothstep(-0.25, 0.85, -dx * 0.6 - dy * 0.45 + z * 0.55)
        const lit = scale(surface, 0.05 + 1.05 * sunlight)
        blend(canvas, x, y, mix(lit, light, (1 - z) ** 3 * sunlight * 0.7), cover)
      }
      if (!ring) continue
      const flat = length(along, across / 0.26)
      if (flat < 1.3 || flat > 2.25 || (distance < 1 && across < 0)) continue
      const lines = 0.35 + 0.65 * noise.fbm(flat * 16, 3.3, 3)
      const edge =
        smoothstep(1.3, 1.4, flat) *
        smoothstep(2.25, 2.05, flat) *
        (1 - 0.85 * smoothstep(0.035, 0.01, Math.abs(flat - 1.86)))
      blend(canvas, x, y, mix(light, middle, 0.3), lines * edge * 0.8)
    }
  }
}
