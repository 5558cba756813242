import type { ChannelPort, OpenChannel } from '../tabs/tab-channel.ts'
import { isTabFacts, type TabFacts } from './models/tab-facts.ts'
import type { RollEntry } from './models/tab-rows.ts'

/** Tabs with devtools loaded say who they are; the client's own messages are left alone. */
type RollMessage =
  /** Who is there? */
  { kind: 'who' } | { kind: 'here'; facts: TabFacts } | { kind: 'gone'; tabId: string }

export interface RollCallOptions {
  open: OpenChannel
  scope: string
  /** Null: this tab does not answer, as it is dead. */
  me(): TabFacts | null
  now(): number
  onChange(): void
}

export interface RollCall {
  readonly roster: ReadonlyMap<string, RollEntry>
  ask(): void
  /** Says how this tab is, unasked. */
  tell(): void
  leave(): void
}

/** Null where tabs cannot be reached, or only by code that has to be loaded: the panel needs a current browser anyway. */
export function joinRollCall({ open, scope, me, now, onChange }: RollCallOptions): RollCall | null {
  let port: ChannelPort
  try {
    const opened = open(`holdfast-devtools:${scope}`)
    if (opened instanceof Promise) {
      opened.then((late) => late.close()).catch(() => {})
      return null
    }
    port = opened
  } catch {
    return null
  }
  const roster = new Map<string, RollEntry>()

  let isThere = true

  function post(message: RollMessage) {
    if (isThere) port.postMessage(message)
  }
  function tell() {
    const facts = me()
    if (facts) post({ kind: 'here', facts })
  }

  port.onmessage = ({ data }) => {
    const message = (data ?? {}) as Partial<Record<string, unknown>>
    if (message.kind === 'who') return tell()
    if (message.kind === 'here' && isTabFacts(message.facts)) {
      roster.set(message.facts.tabId, { facts: message.facts, heardAt: now(), left: false })
      onChange()
    } else if (message.kind === 'gone' && typeof message.tabId === 'string') {
      const entry = roster.get(message.tabId)
      // Remembered, so that what it said on the client's own channel does not bring it back as heard of.
      if (entry) roster.set(message.tabId, { ...entry, left: true })
      onChange()
    }
  }
  tell()

  return {
    roster,
    ask: () => post({ kind: 'who' }),
    tell,
    leave() {
      const facts = me()
      if (facts) post({ kind: 'gone', tabId: facts.tabId })
      isThere = false
      port.onmessage = null
      port.close()
    },
  }
}
