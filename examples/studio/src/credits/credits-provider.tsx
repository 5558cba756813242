import { readCredits } from '@holdfast/client'
import { useHoldfast, useRestoredTasks } from '@holdfast/client/react'
import { type ReactNode, useCallback, useEffect } from 'react'
import { useReconnected } from '../connection/use-reconnected.ts'
import { useFetched } from '../fetching/use-fetched.ts'
import { CreditsContext } from './credits-context.ts'

/** Asks for the balance anew whenever a task may have changed it: each begins with a hold and ends with its end. */
export function CreditsProvider({ children }: { children: ReactNode }) {
  const client = useHoldfast()
  const { tasks } = useRestoredTasks()
  const load = useCallback(() => readCredits(client), [client])
  const { data, reload } = useFetched(load)

  useReconnected(reload)
  const states = tasks
    .map((task) => `${task.id}.${task.status}`)
    .sort()
    .join()
  useEffect(() => {
    if (states) reload()
  }, [states, reload])

  return <CreditsContext value={data?.enabled ? data : null}>{children}</CreditsContext>
}
