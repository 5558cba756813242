const STEPS: [number, string][] = [
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'min'],
]

/** `now`, `12 s`, `3 min`, `2 h`, `5 d`. */
export function durationText(ms: number): string {
  for (const [size, unit] of STEPS) if (ms >= size) return `${Math.floor(ms / size)} ${unit}`
  return ms < 1_000 ? 'now' : `${Math.floor(ms / 1_000)} s`
}

export function agoText(ms: number): string {
  return ms < 1_000 ? 'now' : `${durationText(ms)} ago`
}

const pad = (value: number, length = 2) => String(value).padStart(length, '0')

/** `14:03:07.250`, by this machine's clock and zone. */
export function clockText(at: number): string {
  const date = new Date(at)
  return `${pad(date.getHours())}:${pad(date.getMinutes())}:${pad(date.getSeconds())}.${pad(date.getMilliseconds(), 3)}`
}

/** `−1.2 s` behind, `+0.4 s` ahead. */
export function offsetText(ms: number): string {
  if (ms === 0) return 'none'
  return `${ms < 0 ? '−' : '+'}${(Math.abs(ms) / 1_000).toFixed(1)} s`
}

export function bytesText(bytes: number): string {
  return bytes < 1_000 ? `${bytes} B` : `${(bytes / 1_000).toFixed(1)} kB`
}
