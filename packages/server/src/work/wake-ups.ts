import { createWakeUp, type WakeUp } from '../concurrency/wake-up.ts'
import type { WorkName } from '../engine/work-kind.ts'
import type { WorkQueue } from '../engine/work-queue.ts'

/** What wakes each loop of this process, by the kind of its work and whose it is. */
export interface WakeUps {
  of(kind: WorkName, of: string): WakeUp
  /** There is work of a kind, now or after so long. Nothing happens where no loop here does it. */
  due(kind: WorkName, of: string, inMs?: number): void
  wakeAll(): void
  /** All that loops of this process have asked for. */
  queues(): WorkQueue[]
  /** Forgets all times that were set. */
  clear(): void
}

export function createWakeUps(): WakeUps {
  const all = new Map<string, WorkQueue & { wakeUp: WakeUp }>()
  const nameOf = (kind: WorkName, of: string) => `${kind}:${of}`

  return {
    of(kind, of) {
      const name = nameOf(kind, of)
      const known = all.get(name) ?? { kind, of, wakeUp: createWakeUp() }
      all.set(name, known)
      return known.wakeUp
    },
    due(kind, of, inMs = 0) {
      const wakeUp = all.get(nameOf(kind, of))?.wakeUp
      if (inMs > 0) wakeUp?.wakeIn(inMs)
      else wakeUp?.wake()
    },
    wakeAll() {
      for (const { wakeUp } of all.values()) wakeUp.wake()
    },
    queues: () => [...all.values()],
    clear() {
      for (const { wakeUp } of all.values()) wakeUp.clear()
    },
  }
}
