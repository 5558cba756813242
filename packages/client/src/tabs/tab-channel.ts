import type { TrackedTask } from '../store/merge-tasks.ts'

/** The part of BroadcastChannel that is used. */
export interface ChannelPort {
  postMessage(message: unknown): void
  onmessage: ((event: MessageEvent) => void) | null
  close(): void
}

/** What the tabs of one scope tell each other. */
export type TabMessage =
  /** A new follower asks the leader for everything. */
  | { kind: 'hello' }
  | {
      kind: 'states'
      tasks: TrackedTask[]
      gone: string[]
      /** Whether `tasks` is everything the sender holds. */
      complete: boolean
      /** Whether the server has confirmed what the sender holds. */
      confirmed: boolean
      /** What the sender would resume from, once these tasks are applied. */
      cursor: string | null
      clockOffset: number
    }
  /** The user signed out in this browser. */
  | { kind: 'logout' }

/** Tabs may run different releases of an app: one that does not speak this version is not listened to. */
const VERSION = 1

export interface TabChannel {
  post(message: TabMessage): void
  close(): void
}

/** Null when tabs cannot be reached here. */
export function openTabChannel(
  open: ((name: string) => ChannelPort) | null,
  name: string,
  onMessage: (message: TabMessage) => void,
): TabChannel | null {
  if (!open) return null
  let port: ChannelPort
  try {
    port = open(name)
  } catch {
    // Forbidden in sandboxed frames: the same as not there.
    return null
  }
  port.onmessage = ({ data }) => {
    if (data?.version === VERSION) onMessage(data.message)
  }
  return {
    post: (message) => port.postMessage({ version: VERSION, message }),
    close() {
      port.onmessage = null
      port.close()
    },
  }
}
