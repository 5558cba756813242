import { blend, fillShape, glow, glowSpot } from './canvas.ts'
import { type Color, hex, mix, scale } from './color.ts'
import { clamp, length } from './curves.ts'
import { createRandom } from './noise.ts'
import type { View } from './view.ts'

/** A flock far away, as pairs of wings. */
export function paintBirds({ canvas, palette, horizon, scene, unit, time }: View): void {
  const random = createRandom(scene.seed ^ 0xb12d)
  const cx = canvas.width * (0.25 + random() * 0.5)
  const cy = horizon * (0.3 + random() * 0.25)
  const color = mix(palette.near, palette.haze, 0.15)
  for (let bird = 0; bird < 6 + random() * 6; bird++) {
    const span = unit * (0.9 + random() * 1.1)
    const x = cx + (random() - 0.5) * unit * 30 + time * unit * 1.5
    const y = cy + (random() - 0.5) * unit * 12
    const lift = 0.45 + 0.25 * Math.sin(time * 7 + bird * 2)
    fillShape(
      canvas,
      { left: x - span, right: x + span, top: y - span, bottom: y + span },
      color,
      (px, py) => {
        const out = Math.abs(px - x) / span
        const wing = y - Math.sin(out * Math.PI * 0.75) * span * lift
        return out > 1 ? -1 : unit * 0.16 * (1.2 - out) - Math.abs(py - wing)
      },
    )
  }
}

/** A sailing boat with its foot at the water, and a touch of its own reflection. */
export function paintBoat({ canvas, palette, scene, unit, time }: View, waterline: number): void {
  const random = createRandom(scene.seed ^ 0xb0a7)
  const x = canvas.width * (0.2 + random() * 0.55) + time * unit * 0.6
  const size = unit * (5 + random() * 3)
  const y = waterline + unit * 6 + Math.sin(time * 1.6) * unit * 0.2
  const hull = scale(palette.near, 0.8)
  const sail = mix(palette.light, palette.horizon, 0.35)
  const jib = mix(sail, palette.cloudShade, 0.3)
  const triangle = (ax: number, ay: number, bx: number, by: number, dx: number, dy: number, color: Color) => {
    const edge = (x1: number, y1: number, x2: number, y2: number) => (px: number, py: number) =>
      ((x2 - x1) * (py - y1) - (y2 - y1) * (px - x1)) / length(x2 - x1, y2 - y1)
    const edges = [edge(ax, ay, bx, by), edge(bx, by, dx, dy), edge(dx, dy, ax, ay)]
    const box = {
      left: Math.min(ax, bx, dx),
      right: Math.max(ax, bx, dx),
      top: Math.min(ay, by, dy),
      bottom: Math.max(ay, by, dy),
    }
    fillShape(canvas, box, color, (px, py) => Math.min(...edges.map((inside) => inside(px, py))))
  }
  for (let row = 0; row < size * 0.8; row++) {
    const half = size * 0.42 * (1 - row / (size * 0.8))
    const sway = Math.sin(row * 0.9 + time * 5) * unit * 0.35
    for (let px = Math.floor(x - half + sway); px < x + half + sway; px++) {
      blend(canvas, px, Math.floor(y + row), mix(hull, sail, 0.45), 0.3 * (1 - row / size))
    }
  }
  fillShape(canvas, { left: x - size, right: x + size, top: y - size, bottom: y + 2 }, hull, (px, py) => {
    const deep = (py - (y - size * 0.17)) / (size * 0.17)
    return deep < 0 || deep > 1 ? -1 : size * (0.55 - 0.17 * deep ** 2) - Math.abs(px - x)
  })
  triangle(
    x + size * 0.02,
    y - size * 1.25,
    x + size * 0.46,
    y - size * 0.24,
    x + size * 0.02,
    y - size * 0.24,
    sail,
  )
  triangle(
    x - size * 0.04,
    y - size * 1.15,
    x - size * 0.04,
    y - size * 0.24,
    x - size * 0.4,
    y - size * 0.24,
    jib,
  )
}

/** Hot-air balloons at several distances. */
export function paintBalloons({ canvas, palette, horizon, scene, unit, time }: View): void {
  const random = createRandom(scene.seed ^ 0xba11)
  const colors = ['#e8485a', '#f2a63c', '#3c8cd2', '#58b87a', '#b05cc8'].map(hex)
  for (let balloon = 0; balloon < 5; balloon++) {
    const nearness = (balloon + 1) / 5
    const radius = unit * (1.6 + 6.5 * nearness ** 1.6)
    const x = canvas.width * (0.1 + 0.8 * ((random() + balloon * 0.37) % 1))
    const y = horizon * (0.2 + 0.5 * random()) - time * unit * 0.4 * nearness
    const stripe = colors[Math.floor(random() * colors.length)] as Color
    const pale: Color = [0.98, 0.94, 0.86]
    const far = (1 - nearness) * 0.5
    const box = { left: x - radius, right: x + radius, top: y - radius, bottom: y + radius * 1.9 }
    fillShape(
      canvas,
      box,
      (px, py) => {
        const across = clamp((px - x) / radius, -1, 1)
        const panel = Math.floor((Math.asin(across) / Math.PI + 0.5) * 8) % 2 === 0
        const light = 0.78 + 0.3 * (across * (x > canvas.width / 2 ? -1 : 1)) - 0.12 * ((py - y) / radius)
        return mix(scale(panel ? stripe : pale, light), palette.haze, far)
      },
      (px, py) => {
        const dy = py - y
        const half =
          dy < 0
            ? Math.sqrt(Math.max(0, radius * radius - dy * dy))
            : radius * Math.cos(Math.min(1.25, (dy / radius) * 0.95))
        return dy > radius * 1.3 ? -1 : half - Math.abs(px - x)
      },
    )
    const basket = mix(hex('#5a3a26'), palette.haze, far)
    fillShape(canvas, box, basket, (px, py) =>
      Math.min(radius * 0.17 - Math.abs(px - x), radius * 0.15 - Math.abs(py - (y + radius * 1.65))),
    )
  }
}

/** A lighthouse on a rock, its beam on when it is dark. */
export function paintLighthouse(view: View, waterline: number): void {
  const { canvas, palette, scene, unit, noise, sun, time } = view
  const isDark = scene.light === 'night' || scene.light === 'dusk'
  const x = canvas.width * (sun.x < canvas.width / 2 ? 0.74 : 0.26)
  const foot = waterline - unit * 5
  const tall = unit * 27
  const top = foot - tall
  const rock = mix(palette.near, palette.haze, 0.16)
  fillShape(
    canvas,
    { left: x - unit * 26, right: x + unit * 26, top: foot - unit * 6, bottom: waterline + unit * 3 },
    (px, py) => mix(rock, palette.light, 0.16 * noise.fbm(px / unit / 2, py / unit / 2, 3)),
    (px, py) => {
      const out = Math.abs(px - x) / (unit * 22)
      const rim = foot + out ** 1.5 * unit * 9 - (noise.fbm(px / (unit * 3), 8.8, 4) - 0.5) * unit * 5
      return Math.min(py - rim, waterline + unit * (1.4 + noise.at(px / unit, 4.4)) - py)
    },
  )
  const white: Color = mix([0.96, 0.95, 0.93], palette.haze, isDark ? 0.5 : 0.12)
  const red: Color = mix(hex('#c8363f'), palette.haze, isDark ? 0.4 : 0.12)
  const width = (py: number) => unit * (1.7 + 1.3 * ((py - top) / tall))
  const round = (px: number, color: Color) => {
    const across = ((px - x) / (unit * 3)) * (sun.x < x ? -1 : 1)
    return scale(color, clamp(0.78 + 0.4 * across, 0.35, 1.1) * (isDark ? 0.55 : 1))
  }
  fillShape(
    canvas,
    { left: x - unit * 4, right: x + unit * 4, top, bottom: foot + unit },
    (px, py) => round(px, Math.floor(((py - top) / tall) * 5) % 2 === 0 ? white : red),
    (px, py) => Math.min(width(py) - Math.abs(px - x), py - top),
  )
  const dark = scale(palette.near, 0.9)
  const box = { left: x - unit * 4, right: x + unit * 4, top: top - unit * 6, bottom: top + unit }
  fillShape(canvas, box, dark, (px, py) =>
    Math.min(unit * 2.5 - Math.abs(px - x), unit * 0.3 - Math.abs(py - top)),
  )
  fillShape(canvas, box, isDark ? [1, 0.93, 0.7] : mix(palette.horizon, [1, 1, 1], 0.3), (px, py) =>
    Math.min(unit * 1.25 - Math.abs(px - x), py - top + unit * 2.6, top - py),
  )
  fillShape(canvas, box, mix(red, dark, 0.3), (px, py) =>
    Math.min(unit * 1.6 * ((py - top + unit * 4.6) / (unit * 2)) - Math.abs(px - x), top - unit * 2.5 - py),
  )
  if (!isDark) return
  const lamp = top - unit * 1.3
  glowSpot(canvas, x, lamp, unit * 5, [1, 0.9, 0.65], 0.8)
  for (const side of [-1, 1]) {
    for (let out = 0; out < canvas.width; out++) {
      const px = Math.floor(x + side * out)
      const spread = unit * 0.5 + out * 0.075
      const middle = lamp + Math.sin(time * 0.8) * out * 0.05 - out * 0.05 * side
      for (let py = Math.floor(middle - spread); py < middle + spread; py++) {
        const across = 1 - Math.abs(py - middle) / spread
        glow(canvas, px, py, [1, 0.92, 0.7], across * 0.5 * Math.exp(-out / (unit * 38)))
      }
    }
  }
}
