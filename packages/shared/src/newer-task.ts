/** What two states of the same task are compared by. */
export interface TaskState {
  version: number
  progress: number | null
}

/**
 * Whether `incoming` replaces `known`: the higher version wins, and within a version the higher progress.
 * States may therefore arrive twice and in any order, by stream, sync or another tab.
 */
export function isNewer(incoming: TaskState, known: TaskState | undefined): boolean {
  if (!known) return true
  if (incoming.version !== known.version) return incoming.version > known.version
  return (incoming.progress ?? -1) > (known.progress ?? -1)
}
