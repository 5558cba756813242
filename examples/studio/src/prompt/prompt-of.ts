/** The prompt among a task's or message's parameters; other apps' tasks may have none. */
export function promptOf(params: Record<string, unknown>): string {
  return typeof params.prompt === 'string' && params.prompt.trim() ? params.prompt : 'Untitled generation'
}
