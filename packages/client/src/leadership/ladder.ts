import type { UseStore } from 'idb-keyval'
import type { Environment } from '../environment/environment.ts'
import type { Items } from '../environment/items.ts'
import { openTabChannel } from '../tabs/tab-channel.ts'
import type { TabMessage } from '../tabs/tab-message.ts'
import { createLeadership } from './create-leadership.ts'
import { createEveryTabLevel } from './every-tab-level.ts'
import { createIndexedDbLevel } from './indexeddb-level.ts'
import { createLeases } from './lease.ts'
import type { Level } from './level.ts'
import { createWebLockLevel } from './web-lock-level.ts'

export interface LadderOptions {
  environment: Environment
  items: Items
  disk: UseStore | null
  name: string
  tabId: string
  onMessage(message: TabMessage, from: string): void
}

/** The tabs of one user in this browser: the channel between them, and the best way here to have one of them lead. */
export function createLadder({ environment, items, disk, name, tabId, onMessage }: LadderOptions) {
  const { clock, random, locks, page, isVisible } = environment
  const leases = createLeases({ items, store: disk, name, tabId, clock })
  const channel = openTabChannel({
    open: environment.openChannel,
    name,
    tabId,
    clock,
    isVisible,
    leads() {
      const leads = leadership.stillLeads()
      const epoch = leadership.epoch()
      // Who leads only for itself has no epoch, and must not answer for a leader that is gone.
      return { leads: leads && epoch > 0, epoch }
    },
    onMessage,
  })
  const levels: Level[] = []
  // Followers live on what the leader tells them: without a channel these levels do not work.
  const push = (level: Level) => {
    const ready = channel?.ready
    if (channel) levels.push(ready ? { ...level, tryTake: () => ready.then(level.tryTake) } : level)
  }
  if (locks) push(createWebLockLevel(locks, name, leases))
  if (disk) push(createIndexedDbLevel(leases))
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
    channel,
    /**
     * Whether this tab is looked at and nobody leads, as far as can be seen. A hidden leader's timers run once a minute, so
     * that its lease may have run out that long ago.
     */
    isAlone: isVisible() && clock.now() - (leases.seen()?.expiresAt ?? 0) >= 60_000,
    inspect: () => ({
      ...leadership.inspect(),
      epoch: leadership.epoch(),
      lease: leases.seen(),
      messages: channel?.messages ?? [],
    }),
  }
}
