const SPACE = 32

/**
 * A time as PostgreSQL writes it (`2026-11-16 15:22:51.5+00`), as JSON has it. Most of what a list of tasks cost was
 * making dates of such texts, only to write them down again.
 */
export function isoTime(text: string): string {
  const isUsual = text.charCodeAt(10) === SPACE && text.endsWith('+00')
  if (!isUsual) return new Date(text).toISOString()
  const milliseconds = text.slice(20, -3).slice(0, 3).padEnd(3, '0')
  return `${text.slice(0, 10)}T${text.slice(11, 19)}.${milliseconds}Z`
}
