import type { Pool } from 'undici'
import type { ContenderSettings } from './settings.ts'

/** One way to poll many tasks. Only `pollAll` is measured. */
export interface Contender {
  /** Puts all tasks in place, due now. */
  seed(): Promise<void>
  /** Polls every task once. Resolves when all have been polled and the later due time of each is stored. */
  pollAll(): Promise<void>
  /** Makes all due again and tidies up, as the hours between two polls would. */
  makeDue(): Promise<void>
  /** How many tasks wait for a later time: after a pass, all of them. */
  countWaiting(): Promise<number>
  close(): Promise<void>
}

export type OpenContender = (settings: ContenderSettings, pool: Pool) => Promise<Contender>
