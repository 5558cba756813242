import type { HoldfastClient } from '@holdfast/client'
import { hrefOf } from '../route/route.ts'
import { restoredText, settledText } from './notice-text.ts'

export interface Notice {
  id: number
  text: string
  tone: 'good' | 'bad' | 'neutral'
  /** Only for screen readers: the eye sees it happen on the card. */
  quiet: boolean
  /** Where it happened, when that is not on screen. */
  href: string | null
}

export interface Notices {
  getState(): readonly Notice[]
  subscribe(listener: () => void): () => void
  dismiss(id: number): void
  /** Returns the undo. */
  start(): () => void
}

interface Options {
  /** Whether the visitor is looking at that conversation right now. */
  isOnScreen(conversationId: string | null): boolean
  /** How long a notice stays, in milliseconds. @default 8000 */
  stay?: number
}

/** What happened since you last looked, told once and then put away. */
export function createNotices(client: HoldfastClient, { isOnScreen, stay = 8000 }: Options): Notices {
  const listeners = new Set<() => void>()
  const timers = new Set<ReturnType<typeof setTimeout>>()
  let notices: readonly Notice[] = []
  let lastId = 0

  function become(next: readonly Notice[]): void {
    notices = next
    for (const listener of listeners) listener()
  }

  const dismiss = (id: number) => become(notices.filter((notice) => notice.id !== id))

  function add(notice: Omit<Notice, 'id'>): void {
    const id = ++lastId
    become([...notices, { id, ...notice }])
    const timer = setTimeout(() => {
      timers.delete(timer)
      dismiss(id)
    }, stay)
    timers.add(timer)
  }

  return {
    getState: () => notices,
    subscribe: (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    dismiss,
    start: () => {
      const stops = [
        client.on('restored', ({ tasks }) => {
          const text = restoredText(tasks)
          if (text) add({ text, tone: 'neutral', quiet: false, href: null })
        }),
        client.on('settled', ({ task }) => {
          const text = settledText(task)
          if (!text) return
          const { conversationId, status } = task
          add({
            text,
            tone: status === 'completed' ? 'good' : status === 'failed' ? 'bad' : 'neutral',
            quiet: isOnScreen(conversationId),
            href: hrefOf(conversationId ? { at: 'conversation', conversationId } : { at: 'unfiled' }),
          })
        }),
        client.store.subscribe((now, before) => {
          // One person's prompts are not the next one's to read.
          if (now.userId !== before.userId) become([])
        }),
      ]
      return () => {
        for (const stop of stops) stop()
        for (const timer of timers) clearTimeout(timer)
        timers.clear()
      }
    },
  }
}
