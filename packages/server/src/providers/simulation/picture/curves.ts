export function clamp(value: number, low = 0, high = 1): number {
  return Math.min(Math.max(value, low), high)
}

/** 0 up to `from`, 1 from `to` on, and a soft slope between. */
export function smoothstep(from: number, to: number, value: number): number {
  const t = clamp((value - from) / (to - from))
  return t * t * (3 - 2 * t)
}

/** `Math.hypot` guards against overflow, and pays for it in every pixel. */
export function length(dx: number, dy: number): number {
  return Math.sqrt(dx * dx + dy * dy)
}
