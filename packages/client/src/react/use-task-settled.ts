import { useEffect, useRef } from 'react'
import type { SettleHandler } from '../inbox/inbox.ts'
import { useHoldfast } from './holdfast-provider.ts'

/**
 * What to do when a task has ended: at least once per browser, in one tab at a time, again after a reload when it
 * throws. The newest handler is used; it need not be memoised.
 */
export function useTaskSettled(handler: SettleHandler): void {
  const client = useHoldfast()
  const newest = useRef(handler)
  useEffect(() => {
    newest.current = handler
  })
  useEffect(() => client.onSettled((task) => newest.current(task)), [client])
}
