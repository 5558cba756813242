/** Where a progress bar may still be; logs can be megabytes. */
const TAIL_CHARS = 10_000

/**
 * Some vendors tell no progress, but many models print a bar such as ` 42%|████      | 21/50 [00:03<00:04]`: the last one
 * in the logs. Null where there is none.
 */
export function progressOfLogs(logs: unknown): number | null {
  if (typeof logs !== 'string') return null
  const bars = logs.slice(-TAIL_CHARS).matchAll(/(\d{1,3})%\s*\|[^|\n]{0,200}\|\s*\d+\/\d+/g)
  const last = [...bars].at(-1)?.[1]
  return last === undefined ? null : Math.min(Number(last), 100)
}
