import { useEffect, useMemo, useRef, useState } from 'react'
import { useHoldfast } from './holdfast-provider.ts'
import { nextDeadline, type RestoredTasks, selectRestored } from './restored-tasks.ts'
import type { AnyTasks, TaskCatalog } from './task-catalog.ts'
import { useClientState } from './use-client-state.ts'

export interface RestoredTasksOptions<T, C extends TaskCatalog = AnyTasks> {
  /** Only that conversation's; null: only those without one; left out: all. */
  conversationId?: string | null
  /** Only this part; the component renders again when it has changed, compared one level deep. */
  select?(restored: RestoredTasks<C>): T
}

/**
 * This user's tasks, after a reload, a log-in or on another device just as before (C1).
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
  const last = useRef<T | undefined>(undefined)
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
    const value = select(all)
    if (last.current === undefined || !isAlike(last.current, value)) last.current = value
    return last.current
  })
}

function isAlike(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false
  const entries = Object.entries(a)
  return (
    entries.length === Object.keys(b).length &&
    entries.every(([key, value]) => Object.is(value, (b as Record<string, unknown>)[key]))
  )
}
