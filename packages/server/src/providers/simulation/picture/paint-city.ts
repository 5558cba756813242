import { fillShape, glow, glowSpot } from './canvas.ts'
import { type Color, mix, scale } from './color.ts'
import { clamp, smoothstep } from './curves.ts'
import { createRandom } from './noise.ts'
import type { View } from './view.ts'

const LAYERS = 4
const WINDOW_COLORS: Color[] = [
  [1, 0.83, 0.52],
  [1, 0.9, 0.7],
  [1, 0.72, 0.4],
  [0.72, 0.88, 1],
]

/** Rows of towers up to `ground`, the near ones darker, with lit windows when the day is over. */
export function paintCity(view: View, ground: number): void {
  const { canvas, palette, scene, unit } = view
  const lights = scene.light === 'night' ? 0.85 : scene.light === 'day' ? 0.12 : 0.5
  for (let layer = 0; layer < LAYERS; layer++) {
    const nearness = layer / (LAYERS - 1)
    const random = createRandom(scene.seed + layer * 977)
    const wall = mix(palette.near, palette.haze, 0.78 - 0.66 * nearness)
    const wide = unit * (3.4 + 4.2 * nearness)
    for (let x = -wide * random(); x < canvas.width; ) {
      const width = wide * (0.65 + random() * 0.9)
      // Towers gather around the middle, and less so in front.
      const centre = Math.exp(-(((x + width / 2) / canvas.width - 0.5) ** 2) * 7)
      const tall = unit * (9 + 33 * random() ** 2 * centre * (1.15 - 0.45 * nearness) + 10 * random())
      paintTower(view, { x, width, top: ground - tall, ground, wall, nearness, lights, random })
      x += width * (random() < 0.25 ? 1.25 : 1.02)
    }
    paintHaze(view, ground, 0.34 * (1 - nearness))
  }
}

interface Tower {
  x: number
  width: number
  top: number
  ground: number
  wall: Color
  nearness: number
  lights: number
  random: () => number
}

function paintTower(view: View, { x, width, top, ground, wall, nearness, lights, random }: Tower): void {
  const { canvas, palette, sun, unit } = view
  const lit = mix(wall, palette.light, 0.2)
  const towardsSun = sun.x < x + width / 2 ? 0 : 1
  const shade = (px: number, py: number) => {
    const across = clamp((px - x) / width)
    const side = towardsSun === 0 ? 1 - across : across
    return scale(mix(wall, lit, side ** 3), 1.06 - 0.16 * smoothstep(top, ground, py))
  }
  const box = (left: number, up: number, right: number, down: number) =>
    fillShape(canvas, { left: left - 1, top: up - 1, right: right + 1, bottom: down }, shade, (px, py) =>
      Math.min(px - left, right - px, py - up, down - py + 1),
    )
  box(x, top, x + width, ground)
  const crown = random()
  if (crown < 0.4) box(x + width * 0.2, top - unit * 2.4, x + width * 0.8, top + 1)
  if (crown < 0.16) box(x + width * 0.35, top - unit * 4.5, x + width * 0.65, top)
  if (crown < 0.24 || crown > 0.92) {
    const mast = x + width / 2
    const tip = top - unit * (6 + 4 * random())
    box(mast - unit * 0.12, tip, mast + unit * 0.12, top)
    if (lights > 0.3) glowSpot(canvas, mast, tip, unit * 0.4, [1, 0.3, 0.25], 0.9)
  }

  const step = unit * (0.8 + 0.55 * nearness)
  const size = step * 0.5
  for (let wy = top + step; wy < ground - step; wy += step * 1.25) {
    const floorIsBusy = random() < 0.75
    for (let wx = x + step * 0.55; wx < x + width - step * 0.6; wx += step) {
      const chance = random()
      const tone = WINDOW_COLORS[Math.floor(random() * WINDOW_COLORS.length)] as Color
      if (chance > lights * (floorIsBusy ? 0.55 : 0.15)) continue
      const strength = (0.3 + 0.6 * random()) * (0.45 + 0.55 * nearness)
      for (let py = Math.floor(wy); py < wy + size * 1.3; py++) {
        for (let px = Math.floor(wx); px < wx + size; px++) glow(canvas, px, py, tone, strength)
      }
    }
  }
}

/** The glow of the streets rises between the rows. */
function paintHaze({ canvas, palette, unit, scene }: View, ground: number, amount: number): void {
  const warm = scene.light === 'night' ? mix(palette.haze, [1, 0.62, 0.4], 0.35) : palette.haze
  for (let y = Math.max(0, Math.floor(ground - unit * 40)); y < ground; y++) {
    const strength = amount * Math.exp((y - ground) / (unit * 13))
    for (let x = 0; x < canvas.width; x++) glow(canvas, x, y, warm, strength)
  }
}
