import type { Conversation } from '@holdfast/shared'
import { isObject } from '../environment/items.ts'
import type { TrackedTask } from '../store/merge-tasks.ts'

/**
 * Raise it when the shape of `hello`, `states`, `task` or `conversations` changes. Tabs may run different releases of an app: what
 * they say about leading and signing out is understood by all, the rest only by the same protocol.
 */
export const PROTOCOL = 3

/** Who leads and who is there. These shapes never change. */
export type CoreMessage =
  /** Is that tab there? Null: is there a leader? */
  | { kind: 'ping'; to: string | null }
  | { kind: 'pong'; to: string; leads: boolean; epoch: number }
  /** A hidden leader asks whether a visible tab would like to lead … */
  | { kind: 'offer' }
  /** … one that would … */
  | { kind: 'claim' }
  /** … and the leader, who has stopped, to the one that shall. */
  | { kind: 'yours'; to: string }
  /** The leader of that epoch has let go. */
  | { kind: 'bye'; epoch: number }
  /** The user signed out in this browser. */
  | { kind: 'logout'; forget: boolean }

export type TabMessage =
  | CoreMessage
  /** A new follower asks the leader for everything. */
  | { kind: 'hello' }
  | {
      kind: 'states'
      /** The sender's: what an older leader says is not listened to. */
      epoch: number
      tasks: TrackedTask[]
      gone: string[]
      conversations: Conversation[]
      unreadConversations: number | null
      /** Whether `tasks` and `conversations` are everything the sender holds. */
      complete: boolean
      /** Whether the server has confirmed what the sender holds. */
      confirmed: boolean
      /** What the sender would resume from, once these tasks are applied. */
      cursor: string | null
      clockOffset: number
    }
  /** What one call of any tab, leading or not, has brought: versions decide. */
  | { kind: 'task'; task: TrackedTask }
  | { kind: 'conversations'; conversations: Conversation[] }
  /** What waits to be sent has changed: read it again. */
  | { kind: 'outbox' }

/** A message and who it is from. */
export interface Envelope<M extends TabMessage = TabMessage> {
  /** The sender's protocol. */
  holdfast: number
  from: string
  visible: boolean
  /** By the sender's clock, which is everybody's here. */
  at: number
  message: M
}

export type Pong = Envelope<Extract<TabMessage, { kind: 'pong' }>>

const CORE = ['ping', 'pong', 'offer', 'claim', 'yours', 'bye', 'logout']

const CHECKS: Record<string, (message: Record<string, unknown>) => boolean> = {
  pong: ({ epoch }) => Number.isSafeInteger(epoch),
  states: ({ epoch, tasks, gone, conversations }) =>
    Number.isSafeInteger(epoch) && [tasks, gone, conversations].every(Array.isArray),
  task: ({ task }) => isObject(task),
  conversations: ({ conversations }) => Array.isArray(conversations),
}

/** Null for what is not ours, of another protocol, or broken. */
export function readEnvelope(data: unknown): Envelope | null {
  if (!isObject(data) || typeof data.holdfast !== 'number' || typeof data.from !== 'string') return null
  const { message } = data
  if (!isObject(message) || typeof message.kind !== 'string') return null
  if (data.holdfast !== PROTOCOL && !CORE.includes(message.kind)) return null
  return (CHECKS[message.kind]?.(message) ?? true) ? (data as unknown as Envelope) : null
}
