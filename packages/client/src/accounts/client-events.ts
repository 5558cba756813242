import type { TerminalStatus } from '@holdfast/shared'
import type { HoldfastError } from '../holdfast-error.ts'
import type { TrackedTask } from '../store/merge-tasks.ts'

/** What the client tells the app (C8). */
export interface ClientEvents {
  /** The server has confirmed what is still unfinished, oldest first. Once per sign-in. */
  restored: { tasks: TrackedTask[] }
  /** A task known here as unfinished has ended. `via`: this tab heard it from the server, or from another tab. */
  settled: { task: TrackedTask; change: TerminalStatus; via: 'server' | 'other-tab' }
  /**
   * A finished task could not be saved: by a handler of the app's, which threw `error` and is tried again after a
   * reload, or by the server. `client.retrySave(task.id)` tries both again.
   */
  unsaved: { task: TrackedTask; by: 'app' | 'server'; error: unknown; attempts: number }
  /** A submit was refused, or could not be sent for a day. */
  'not-sent': { key: string; placeholderId: string; error: HoldfastError }
}

export type Emit = <E extends keyof ClientEvents>(event: E, payload: ClientEvents[E]) => void
