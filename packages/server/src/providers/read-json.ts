/** Undefined where it is no JSON: proxies answer in HTML and sockets break in the middle; the caller judges it. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

export function asRecord(value: unknown): Record<string, unknown> | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : null
}

/** Vendor text is shown to users and logged: one line, no control characters, not too long. */
export function tidyText(value: unknown): string {
  if (typeof value !== 'string') return ''
  const line = value
    .slice(0, 1_000)
    .replace(/[\p{Cc}\p{Cf}\p{Cs}\s]+/gu, ' ')
    .trim()
  return line.length > 200 ? `${line.slice(0, 199).trimEnd()}…` : line
}
