import type { Color } from './color.ts'
import { clamp } from './curves.ts'
import { createRandom } from './noise.ts'

/** A picture in floating point, so that many thin layers leave no bands. */
export interface Canvas {
  width: number
  height: number
  /** Red, green, blue per pixel, in 0–1; may go beyond until `toBytes`. */
  data: Float32Array
}

export function createCanvas(width: number, height: number): Canvas {
  return { width, height, data: new Float32Array(width * height * 3) }
}

/** `alpha` of `color` over what is there. Outside the picture nothing happens. */
export function blend(canvas: Canvas, x: number, y: number, color: Color, alpha: number): void {
  if (x < 0 || y < 0 || x >= canvas.width || y >= canvas.height || alpha <= 0) return
  const { data } = canvas
  const i = (y * canvas.width + x) * 3
  const a = Math.min(alpha, 1)
  for (let c = 0; c < 3; c++) data[i + c] = (data[i + c] as number) * (1 - a) + (color[c] as number) * a
}

/** Light on top of what is there, as from a lamp: it never darkens. */
export function glow(canvas: Canvas, x: number, y: number, color: Color, amount: number): void {
  if (x < 0 || y < 0 || x >= canvas.width || y >= canvas.height || amount <= 0) return
  const { data } = canvas
  const i = (y * canvas.width + x) * 3
  for (let c = 0; c < 3; c++) {
    const below = data[i + c] as number
    data[i + c] = below + (1 - Math.min(below, 1)) * (color[c] as number) * amount
  }
}

/** A round light with a soft edge. */
export function glowSpot(
  canvas: Canvas,
  x: number,
  y: number,
  radius: number,
  color: Color,
  amount: number,
): void {
  const reach = Math.ceil(radius * 2.5)
  for (let py = Math.floor(y) - reach; py <= y + reach; py++) {
    for (let px = Math.floor(x) - reach; px <= x + reach; px++) {
      const distance = ((px - x) ** 2 + (py - y) ** 2) / (radius * radius)
      glow(canvas, px, py, color, amount * Math.exp(-distance * 1.5))
    }
  }
}

/** Fills where `inside` is positive; it gives the distance to the edge in pixels, which smooths the edge. */
export function fillShape(
  canvas: Canvas,
  box: { left: number; top: number; right: number; bottom: number },
  color: Color | ((x: number, y: number) => Color),
  inside: (x: number, y: number) => number,
): void {
  const right = Math.min(canvas.width - 1, Math.ceil(box.right))
  const bottom = Math.min(canvas.height - 1, Math.ceil(box.bottom))
  for (let y = Math.max(0, Math.floor(box.top)); y <= bottom; y++) {
    for (let x = Math.max(0, Math.floor(box.left)); x <= right; x++) {
      const cover = clamp(inside(x, y) + 0.5)
      if (cover > 0) blend(canvas, x, y, typeof color === 'function' ? color(x, y) : color, cover)
    }
  }
}

/** To 8 bits, with darker corners and a grain of less than one step that hides the steps of long gradients. */
export function toBytes(canvas: Canvas, { grain }: { grain: number }): Uint8Array {
  const { width, height, data } = canvas
  const bytes = new Uint8Array(width * height * 3)
  const random = createRandom(7)
  for (let y = 0; y < height; y++) {
    const dy = (y / height - 0.5) * 2
    for (let x = 0; x < width; x++) {
      const dx = (x / width - 0.5) * 2
      const vignette = 1 - 0.16 * (dx * dx + dy * dy) ** 1.3 * 0.5
      const noise = (random() - 0.5) * grain
      const i = (y * width + x) * 3
      for (let c = 0; c < 3; c++) {
        bytes[i + c] = clamp((data[i + c] as number) * vignette * 255 + 0.5 + noise, 0, 255)
      }
    }
  }
  return bytes
}
