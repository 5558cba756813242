import type { UseStore } from 'idb-keyval'
import type { Environment } from '../environment/environment.ts'
import { openTabChannel } from '../tabs/tab-channel.ts'
import type { Sender, TabMessage } from '../tabs/tab-message.ts'
import { createEveryTabLevel } from './every-tab-level.ts'
import { createIndexedDbLevel } from './indexeddb-level.ts'
import { createLeadership } from './leadership.ts'
import { createLeases } from './lease.ts'
import type { Level } from './level.ts'
import { createWebLockLevel } from './web-lock-level.ts'

/** How many of the last messages are remembered for whoever looks under the bonnet. */
const REMEMBERED = 50

export interface LadderOptions {
  environment: Environment
  disk: UseStore | null
  name: string
  tabId: string
  onMessage(message: TabMessage, from: Sender): void
}

/** The tabs of one user in this browser: the channel between them, and the best way here to have one of them lead. */
export function createLadder({ environment, disk, name, tabId, onMessage }: LadderOptions) {
  const { clock, random, locks, localStorage, page, isVisible } = environment
  const leases = createLeases({ storage: localStorage, store: disk, name, tabId, clock })
  const tabs: Record<string, Sender & { seenAt: number }> = {}
  const messages: { at: number; from: string; message: TabMessage }[] = []

  function remember(from: string, message: TabMessage) {
    messages.push({ at: clock.now(), from, message })
    if (messages.length > REMEMBERED) messages.shift()
  }

  const channel = openTabChannel({
    open: environment.openChannel,
    name,
    tabId,
    clock,
    isVisible,
    leads: () => ({ leads: leadership.stillLeads(), epoch: leadership.epoch() }),
    onMessage(message, from) {
      tabs[from.tabId] = { ...from, seenAt: clock.now() }
      remember(from.tabId, message)
      onMessage(message, from)
    },
  })
  const levels: Level[] = []
  // Followers live on what the leader tells them.
  if (channel && locks) levels.push(createWebLockLevel(locks, name, leases))
  if (channel && disk) levels.push(createIndexedDbLevel(leases, clock))
  const leadership = createLeadership({
    tabId,
    clock,
    random,
    levels: [...levels, createEveryTabLevel()],
    leases,
    channel,
    page,
    isVisible,
  })

  return {
    leadership,
    channel: channel && {
      ...channel,
      post(message: TabMessage) {
        remember(tabId, message)
        channel.post(message)
      },
    },
    inspect: () => ({
      ...leadership.inspect(),
      epoch: leadership.epoch(),
      lease: leases.seen(),
      tabs: Object.values(tabs),
      messages: [...messages],
    }),
  }
}
