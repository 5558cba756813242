import type { Clock } from '../environment/clock.ts'
import type { TabChannel } from '../tabs/tab-channel.ts'
import type { TabMessage } from '../tabs/tab-message.ts'
import type { Leases } from './lease.ts'
import type { Level } from './level.ts'

export interface LeadershipEvents {
  /** `exclusive`: no other tab leads, so a stream may be opened. */
  lead(exclusive: boolean, epoch: number): void
  /** Another tab leads. `understood`: it speaks our protocol, so it will tell us what happens. */
  follow(understood: boolean): void
  /** This page is put away, perhaps for good. */
  rest(): void
  /** The machine slept, or the timers did: what should have come may have been missed. */
  wake(): void
}

/**
 * Why this tab has its role, for people who look under the bonnet. It leads because the lead was `free`, was `freed`,
 * its holder gave `no-answer`, or it was `handed-to-us`. It does not because `other-leads`, it was `handed-over` or
 * `robbed`, or the page is `away`.
 */
export type RoleReason =
  | 'free'
  | 'freed'
  | 'no-answer'
  | 'handed-to-us'
  | 'other-leads'
  | 'handed-over'
  | 'robbed'
  | 'away'

export interface Leadership {
  start(events: LeadershipEvents): void
  /** Gives up the lead; safe to call twice. */
  stop(): void
  /** Ours while we lead, else the highest we know of. */
  epoch(): number
  /**
   * Whether we lead, looking at the lease as well: a tab that was stopped learns here, before it does anything, that
   * it was robbed meanwhile.
   */
  stillLeads(): boolean
  /** Whether that epoch is of the newest leader we know. Also how a robbed leader learns of it. */
  isCurrent(epoch: number): boolean
  /** The server says that a newer leader has the stream. */
  superseded(): void
  hear(message: TabMessage, from: string): void
  inspect(): { level: Level['name']; reason: RoleReason }
}

export interface LeadershipOptions {
  tabId: string
  clock: Clock
  random(): number
  /** Best first; the last one always works. */
  levels: [...Level[], Level]
  leases: Leases
  channel: TabChannel | null
  page: EventTarget | null
  isVisible(): boolean
}
