import type { Bus } from '../src/bus/bus.ts'
import { createNotify, type Notify, type WriteContext } from '../src/bus/create-notify.ts'
import type { Sql } from '../src/database/connect.ts'
import { createMemoryLog } from './memory-log.ts'

/** Where nobody is to be told of what is written. */
export const notifyNobody: Notify = { changed() {}, due() {}, dueHere() {} }

export function untold(sql: Sql): WriteContext {
  return { sql, notify: notifyNobody }
}

/** As a server tells it. */
export function notifyOver(bus: Bus): Notify {
  return createNotify({ bus, log: createMemoryLog().log })
}

/** Notes what is told, in order: `changed ada`, `due send kie`, `due here poll kie in 2000`. */
export function recordNotices(): { notify: Notify; told: string[] } {
  const told: string[] = []
  const later = (inMs = 0) => (inMs > 0 ? ` in ${Math.round(inMs)}` : '')
  return {
    told,
    notify: {
      changed: (userId) => void told.push(`changed ${userId}`),
      due: (kind, of, inMs) => void told.push(`due ${kind} ${of}${later(inMs)}`),
      dueHere: (kind, of, inMs) => void told.push(`due here ${kind} ${of}${later(inMs)}`),
    },
  }
}
