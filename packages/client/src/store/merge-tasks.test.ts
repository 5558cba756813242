import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { trackedTask } from '../../test/tracked-task.ts'
import { createItems } from '../environment/items.ts'
import { createOrigins } from '../placeholders/origin.ts'
import { type IncomingTask, mergeTasks, type TaskMap } from './merge-tasks.ts'

/** The server never shows one version and progress with two contents, so the content follows from them. */
const states = fc
  .record({
    id: fc.constantFrom('a', 'b', 'c'),
    version: fc.integer({ min: 1, max: 4 }),
    progress: fc.option(fc.constantFrom(0, 20, 80), { nil: null }),
    stale: fc.boolean(),
    origin: fc.constantFrom('other-tab' as const, 'other-device' as const),
  })
  .map(
    (state): IncomingTask =>
      trackedTask({
        ...state,
        params: { prompt: `${state.version}/${state.progress}` },
        status: state.version === 4 ? 'completed' : 'running',
      }),
  )

function mergeAll(deliveries: IncomingTask[][]): TaskMap {
  const origins = createOrigins({
    session: createItems(null),
    durable: createItems(null),
    app: '',
    mayWrite: () => true,
  })
  return deliveries.reduce<TaskMap>((held, tasks) => mergeTasks(held, tasks, origins).tasks, {})
}

describe('mergeTasks', () => {
  it('ends the same whatever the order, the grouping and the repetitions', () => {
    const deliveries = fc.array(states, { maxLength: 12 }).chain((all) =>
      fc.record({
        straight: fc.constant(all),
        shuffled: fc
          .tuple(fc.shuffledSubarray(all, { minLength: all.length, maxLength: all.length }), fc.subarray(all))
          .map(([once, again]) => [...once, ...again]),
      }),
    )
    fc.assert(
      fc.property(deliveries, ({ straight, shuffled }) => {
        expect(mergeAll(shuffled.map((task) => [task]))).toEqual(mergeAll([straight]))
      }),
      { numRuns: 500 },
    )
  })

  it('says that a task ended only once, and only of one it knew as unfinished', () => {
    const origins = createOrigins({
      session: createItems(null),
      durable: createItems(null),
      app: '',
      mayWrite: () => true,
    })
    const running = trackedTask({ id: 'a', status: 'running' })
    const done = trackedTask({ id: 'a', status: 'completed', version: 2 })
    expect(mergeTasks({}, [done], origins).ended).toEqual([])
    const merged = mergeTasks({ a: running }, [done, done], origins)
    expect(merged.ended).toEqual([merged.tasks.a])
    expect(mergeTasks(merged.tasks, [running, done], origins)).toEqual({
      tasks: merged.tasks,
      changed: [],
      ended: [],
    })
  })
})
