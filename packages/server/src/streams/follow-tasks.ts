import { isNewer, nameChange, type StreamEvents, type Task } from '@holdfast/shared'
import type { Bus } from '../bus/bus.ts'
import type { Sql } from '../database/connect.ts'
import type { Presenter } from '../tasks/present-tasks.ts'
import { syncTasks } from '../tasks/sync-tasks.ts'

export interface FollowOptions {
  sql: Sql
  bus: Bus
  present: Presenter
  userId: string
  /** Where an earlier stream of the same client ended. */
  cursor: string | null
  heartbeatMs: number
  sweepMs: number
  signal: AbortSignal
  send<E extends 'snapshot' | 'task'>(event: E, data: StreamEvents[E], id?: string): Promise<void>
  beat(): Promise<void>
}

type Seen = Pick<Task, 'status' | 'progress' | 'version'>

/**
 * Sends what a user's tasks are, then every newer state, until the signal says stop. A slow reader holds this loop
 * up at `send` and then gets the newest state, not a queue of old ones.
 */
export async function followTasks(options: FollowOptions): Promise<void> {
  const { sql, bus, present, userId, signal, send, beat } = options
  const seen = new Map<string, Seen>()
  let hinted = false
  let wake: () => void = () => {}
  const unsubscribe = bus.subscribe(userId, () => {
    hinted = true
    wake()
  })
  const onAbort = () => wake()
  signal.addEventListener('abort', onAbort)

  /** True when there is something to look for; false when it is time for a heartbeat. */
  function nextTurn(beatAt: number, sweepAt: number): Promise<void> {
    if (hinted || signal.aborted) return Promise.resolve()
    return new Promise((resolve) => {
      const timer = setTimeout(done, Math.max(0, Math.min(beatAt, sweepAt) - performance.now()))
      function done() {
        clearTimeout(timer)
        wake = () => {}
        resolve()
      }
      wake = done
    })
  }

  try {
    // A resumed snapshot leaves out what the client knows already; we must know it too, to name its next change.
    // Read first, so that nothing can count as sent that was not.
    const known = options.cursor === null ? [] : (await syncTasks(sql, { userId })).tasks
    const snapshot = await syncTasks(sql, { userId, cursor: options.cursor }, present)
    for (const task of [...known, ...snapshot.tasks]) seen.set(task.id, pickSeen(task))
    let { cursor } = snapshot
    await send('snapshot', snapshot, cursor)

    let beatAt = performance.now() + options.heartbeatMs
    let sweepAt = performance.now() + options.sweepMs
    while (!signal.aborted) {
      await nextTurn(beatAt, sweepAt)
      if (signal.aborted) return
      if (hinted || performance.now() >= sweepAt) {
        hinted = false
        sweepAt = performance.now() + options.sweepMs
        const changes = await syncTasks(sql, { userId, cursor }, present)
        const news = changes.tasks.filter((task) => isNewer(task, seen.get(task.id)))
        for (const [index, task] of news.entries()) {
          const before = seen.get(task.id)
          seen.set(task.id, pickSeen(task))
          // Only the last one carries the new cursor: whoever is cut off before it resumes with the rest.
          const id = index === news.length - 1 ? changes.cursor : cursor
          await send('task', { task, change: nameChange(before, task) }, id)
          beatAt = performance.now() + options.heartbeatMs
        }
        cursor = changes.cursor
      }
      if (performance.now() >= beatAt) {
        beatAt = performance.now() + options.heartbeatMs
        await beat()
      }
    }
  } finally {
    unsubscribe()
    signal.removeEventListener('abort', onAbort)
  }
}

function pickSeen({ status, progress, version }: Task): Seen {
  return { status, progress, version }
}
