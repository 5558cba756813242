/** Enough to tell a handful of tabs or tasks apart. Time-ordered ids differ at their end only. */
export function shortId(id: string): string {
  return id.includes('-') ? `…${id.slice(-6)}` : id.slice(0, 6)
}
