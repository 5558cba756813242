import type { Logger } from 'pino'
import type { Sql } from '../database/connect.ts'
import type { WorkName } from '../engine/work-kind.ts'
import { ENDPOINTS, type WorkHint } from '../engine/work-queue.ts'
import type { Bus, Reach } from './bus.ts'

/**
 * Tells what was committed. Whoever writes a change tells it, in the function that commits it: right after a statement
 * that stands by itself, through `afterCommit` of a transaction. So no caller has to remember it. It never throws. What
 * is lost is made up for: streams sweep, loops look.
 */
export interface Notify {
  /** Something that this user sees was written: their streams look, and so do those who tell the app's endpoints. */
  changed(userId: string): void
  /** There is work in a queue, now or after so long: the replica that does it looks then. */
  due(kind: WorkName, of: string, inMs?: number): void
  /** The same for work that this replica does itself, such as its next poll: no other one is woken for it. */
  dueHere(kind: WorkName, of: string, inMs?: number): void
}

/** What every function needs that changes a task or makes work: where to write, and whom to tell. */
export interface WriteContext {
  sql: Sql
  notify: Notify
}

export interface NotifyParts {
  bus: Pick<Bus, 'publish' | 'publishWork'>
  log: Pick<Logger, 'error'>
  /** Whether the app has endpoints: each change may be something to tell them. @default false */
  tellsEndpoints?: boolean
}

export function createNotify({ bus, log, tellsEndpoints = false }: NotifyParts): Notify {
  function tell(hint: () => void): void {
    try {
      hint()
    } catch (error) {
      log.error({ err: error }, 'what was written could not be told; it is found a little later')
    }
  }

  function due(hint: WorkHint, reach: Reach): void {
    tell(() => bus.publishWork(hint, reach))
  }

  return {
    changed(userId) {
      tell(() => bus.publish(userId))
      if (tellsEndpoints) due({ kind: 'deliver', of: ENDPOINTS }, 'all')
    },
    due: (kind, of, inMs = 0) => due(inMs > 0 ? { kind, of, inMs } : { kind, of }, 'all'),
    dueHere: (kind, of, inMs = 0) => due(inMs > 0 ? { kind, of, inMs } : { kind, of }, 'here'),
  }
}
