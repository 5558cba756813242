import { useEffect, useMemo, useRef, useState } from 'react'
import { shallow } from 'zustand/vanilla/shallow'
import { useHoldfast } from './holdfast-provider.ts'
import { nextDeadline, type RestoredTasks, selectRestored } from './restored-tasks.ts'
import type { AnyTasks, TaskCatalog } from './task-catalog.ts'
import { useClientState } from './use-client-state.ts'

export interface RestoredTasksOptions<T, C extends TaskCatalog = AnyTasks> {
  /** Only that conversation's; null: only those without one; left out: all. */
  conversationId?: string | null
  /**
   * Only this part. The component renders again when it has changed, compared one level deep: also a Set or a Map.
   */
  select?(restored: RestoredTasks<C>): T
}

/** What `select` made of what. */
interface Selected<T> {
  all: RestoredTasks
  select(restored: RestoredTasks): T
  value: T
}

/**
 * This user's tasks, after a reload, a log-in or on another device just as before.
 *
 * @example
 * const { placeholders } = useRestoredTasks<AppTasks>({ conversationId })
 * const count = useRestoredTasks({ select: ({ placeholders }) => placeholders.length })
 * const prompts = useRestoredTasks({
 *   select: ({ tasks }: RestoredTasks<AppTasks>) => tasks.map((task) => task.params.prompt),
 * })
 */
export function useRestoredTasks<C extends TaskCatalog = AnyTasks>(
  options?: Pick<RestoredTasksOptions<unknown>, 'conversationId'> & { select?: undefined },
): RestoredTasks<C>
export function useRestoredTasks<T, C extends TaskCatalog = AnyTasks>(
  options: RestoredTasksOptions<T, C> & { select(restored: RestoredTasks<C>): T },
): T
export function useRestoredTasks<T>(options: RestoredTasksOptions<T> = {}): T {
  const { conversationId, select } = options
  const { store } = useHoldfast()
  const [passed, setPassed] = useState(0)
  const last = useRef<Selected<T> | null>(null)
  const restored = useMemo(() => selectRestored(conversationId, passed), [conversationId, passed])

  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined
    let waitsFor: number | undefined
    const schedule = () => {
      const next = nextDeadline(store.getState(), passed)
      if (next?.at === waitsFor) return
      clearTimeout(timer)
      waitsFor = next?.at
      if (next) timer = setTimeout(() => setPassed(next.at), next.in)
    }
    schedule()
    const unsubscribe = store.subscribe(({ tasks, clockOffset }, before) => {
      if (tasks !== before.tasks || clockOffset !== before.clockOffset) schedule()
    })
    return () => {
      clearTimeout(timer)
      unsubscribe()
    }
  }, [store, passed])

  return useClientState((state) => {
    const all = restored(state)
    if (!select) return all as T
    const { current } = last
    // React asks more than once and must get the same answer, or it renders for ever.
    if (current?.all === all && current.select === select) return current.value
    const value = select(all)
    const isSame = current !== null && shallow(current.value, value)
    last.current = { all, select, value: isSame ? current.value : value }
    return last.current.value
  })
}
