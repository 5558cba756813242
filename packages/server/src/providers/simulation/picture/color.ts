import { clamp } from './curves.ts'

/** Red, green, blue in 0–1, as a screen takes them. */
export type Color = readonly [number, number, number]

export function hex(text: string): Color {
  const value = Number.parseInt(text.slice(1), 16)
  return [(value >> 16) / 255, ((value >> 8) & 255) / 255, (value & 255) / 255]
}

/** Mixed in linear light: a blend from orange to blue then passes through rose instead of mud. */
export function mix(a: Color, b: Color, amount: number): Color {
  const t = clamp(amount)
  const channel = (i: 0 | 1 | 2) => Math.sqrt(a[i] * a[i] * (1 - t) + b[i] * b[i] * t)
  return [channel(0), channel(1), channel(2)]
}

export function scale(color: Color, by: number): Color {
  return [clamp(color[0] * by), clamp(color[1] * by), clamp(color[2] * by)]
}

function luminance([r, g, b]: Color): number {
  return 0.2126 * r + 0.7152 * g + 0.0722 * b
}

/** Towards the hue of `tint` without getting lighter or darker. */
export function tinted(color: Color, tint: Color, amount: number): Color {
  const level = luminance(color) / Math.max(luminance(tint), 0.05)
  return mix(color, scale(tint, level), amount)
}
