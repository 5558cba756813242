import { blend, glow, glowSpot } from './canvas.ts'
import { type Color, mix } from './color.ts'
import { clamp, length, smoothstep } from './curves.ts'
import { createRandom } from './noise.ts'
import type { View } from './view.ts'

/** From the top to the horizon, and the same colours on below it, which what stands there then covers. */
export function paintSky(view: View): void {
  paintGradient(view)
  const { light, land } = view.scene
  const isDark = light === 'night' || light === 'dusk'
  if (isDark) paintStars(view, light === 'night' ? 420 : 110)
  if (view.scene.extras.aurora) paintAurora(view)
  paintSun(view, isDark)
  if (land !== 'space') paintClouds(view)
}

function paintGradient({ canvas, palette, horizon, sun, unit }: View): void {
  const { width, height, data } = canvas
  // Warm light hugs the horizon, widest below the sun.
  for (let y = 0; y < height; y++) {
    const t = clamp(y / horizon)
    const color =
      t < 0.6
        ? mix(palette.zenith, palette.middle, smoothstep(0, 0.6, t))
        : mix(palette.middle, palette.horizon, smoothstep(0.55, 1, t))
    for (let x = 0; x < width; x++) {
      const d = length((x - sun.x) * 0.7, y - sun.y) / unit
      const near = 0.34 * Math.exp(-d / 34) + 0.3 * Math.exp(-d / 11)
      const i = (y * width + x) * 3
      for (let c = 0; c < 3; c++) {
        const base = color[c] as number
        data[i + c] = base + ((palette.light[c] as number) - base) * near
      }
    }
  }
}

export function paintStars({ canvas, scene, horizon, unit, noise, time }: View, count: number): void {
  const random = createRandom(scene.seed ^ 0x57a25)
  const { width } = canvas
  for (let star = 0; star < count; star++) {
    const x = random() * width
    const y = random() ** 1.2 * horizon
    // A band of more and fainter stars leans across the sky.
    const band = Math.exp(-(((x / width - 0.5) * 0.9 + (y / horizon - 0.45)) ** 2) * 14)
    const magnitude = random() ** 5
    const twinkle = 0.8 + 0.2 * Math.sin(time * 3 + star)
    const strength =
      (0.25 + 0.75 * magnitude) * (0.55 + 0.45 * band) * twinkle * (1 - smoothstep(0.7, 1, y / horizon))
    const warmth = random()
    const color: Color = warmth < 0.3 ? [1, 0.86, 0.74] : warmth < 0.6 ? [0.78, 0.87, 1] : [1, 1, 1]
    glowSpot(canvas, x, y, unit * (0.11 + 0.2 * magnitude), color, strength)
    if (magnitude > 0.75) glowSpot(canvas, x, y, unit * 0.9, color, strength * 0.18)
  }
  for (let y = 0; y < horizon; y++) {
    for (let x = 0; x < width; x++) {
      const band = Math.exp(-(((x / width - 0.5) * 0.9 + (y / horizon - 0.45)) ** 2) * 22)
      if (band < 0.02) continue
      const cloud = noise.fbm(x / (unit * 14) + 40, y / (unit * 14), 4)
      glow(canvas, x, y, [0.55, 0.6, 0.85], band * smoothstep(0.4, 0.85, cloud) * 0.22)
    }
  }
}

function paintAurora({ canvas, horizon, noise, unit, time }: View): void {
  const green: Color = [0.25, 0.95, 0.6]
  const violet: Color = [0.6, 0.3, 0.95]
  const { width } = canvas
  for (let x = 0; x < width; x++) {
    for (let curtain = 0; curtain < 3; curtain++) {
      const wander = noise.fbm(x / (unit * 38) + curtain * 9 + time * 0.12, curtain * 5.5 + time * 0.05, 3)
      const foot = horizon * (0.36 + curtain * 0.13 + (wander - 0.5) * 0.75)
      const rays = 0.35 + 0.65 * noise.fbm(x / (unit * 2.2) + curtain * 50, time * 0.4 + curtain, 3) ** 1.4
      const tall = horizon * (0.3 + 0.3 * noise.at(x / (unit * 9), curtain * 3 + 0.5 + time * 0.2))
      for (let y = Math.max(0, Math.floor(foot - tall)); y < Math.min(horizon, foot + unit * 2); y++) {
        const up = (foot - y) / tall
        const shape = up < 0 ? Math.exp(up * 22) : clamp(1 - up) ** 1.7
        glow(
          canvas,
          x,
          y,
          mix(green, violet, smoothstep(0.15, 0.95, up)),
          shape * rays * (0.62 - curtain * 0.14),
        )
      }
    }
  }
}

function paintSun({ canvas, palette, sun, noise, scene }: View, isMoon: boolean): void {
  const { x: cx, y: cy, radius } = sun
  const reach = radius * 7
  for (let y = Math.max(0, Math.floor(cy - reach)); y < Math.min(canvas.height, cy + reach); y++) {
    for (let x = Math.max(0, Math.floor(cx - reach)); x < Math.min(canvas.width, cx + reach); x++) {
      const d = length(x - cx, y - cy)
      glow(
        canvas,
        x,
        y,
        palette.light,
        0.55 * Math.exp(-((d / (radius * 1.7)) ** 2)) + 0.22 * Math.exp(-d / (radius * 2.2)),
      )
      const cover = clamp(radius - d + 0.5)
      if (cover <= 0) continue
      if (!isMoon) {
        blend(canvas, x, y, mix(palette.light, [1, 1, 1], 0.45), cover)
        continue
      }
      // Grey seas, a darker limb, and a side away from the light.
      const seas =
        smoothstep(0.5, 0.75, noise.fbm(x / (radius * 0.7) + (scene.seed % 50), y / (radius * 0.7), 4)) * 0.16
      const limb = 1 - 0.2 * (d / radius) ** 3
      const shade = smoothstep(-0.95, -0.2, ((x - cx) / radius) * 0.8 - ((y - cy) / radius) * 0.35)
      const level = (0.98 - seas) * limb * (0.35 + 0.65 * shade)
      blend(
        canvas,
        x,
        y,
        [palette.light[0] * level, palette.light[1] * level, palette.light[2] * level],
        cover,
      )
    }
  }
}

function paintClouds({ canvas, palette, horizon, noise, sun, unit, scene, time }: View): void {
  const { width } = canvas
  const random = createRandom(scene.seed ^ 0xc10d)
  const cover = 0.5 + random() * 0.12 + (scene.light === 'night' ? 0.1 : 0)
  const shift = random() * 100
  for (let y = 0; y < horizon; y++) {
    // Clouds are a ceiling: they get flatter and denser towards the horizon.
    const depth = 1 / (1.12 - y / horizon)
    const v = depth * 1.35 + shift
    const fade = smoothstep(0, 0.12, y / horizon) * (1 - 0.75 * smoothstep(0.8, 1, y / horizon))
    for (let x = 0; x < width; x++) {
      const u = ((x - width / 2) / (unit * 46)) * (0.55 + depth * 0.32) + shift + time * 0.035 * depth
      const density = noise.fbm(u, v, 4)
      const alpha = smoothstep(cover, cover + 0.24, density) * fade
      if (alpha <= 0.004) continue
      const lit = noise.fbm(u + 0.06, v - 0.14, 2)
      const d = length(x - sun.x, y - sun.y) / unit
      const facing = clamp(0.55 + (density - lit) * 3.2 + 0.4 * Math.exp(-d / 18))
      const color = mix(palette.cloudShade, palette.cloud, facing)
      blend(canvas, x, y, mix(color, palette.light, 0.5 * Math.exp(-d / 12)), alpha * 0.82)
    }
  }
}
