import type { ThreadEntry } from '@holdfast/client'
import { type RefCallback, useCallback, useLayoutEffect, useRef } from 'react'

/** How near the end still counts as being there, in pixels. */
const NEAR = 80

/**
 * Keeps the newest entry in sight for someone who is at the end, and shows what this tab itself has started.
 * What another device starts must not pull the page from under a reader. Put the ref on an element at the end of
 * the scrolling one.
 */
export function useFollowNewest(entries: readonly ThreadEntry[]): RefCallback<HTMLElement> {
  const end = useRef<HTMLElement | null>(null)
  const isAtEnd = useRef(true)
  const lastKey = useRef<string | null>(null)

  useLayoutEffect(() => {
    const newest = entries.at(-1)
    if (!newest) return
    const isNew = newest.key !== lastKey.current
    const isOwn = newest.kind === 'placeholder' && newest.placeholder.origin === 'this-tab'
    lastKey.current = newest.key
    if (isAtEnd.current || (isNew && isOwn)) end.current?.scrollIntoView({ block: 'end' })
  }, [entries])

  return useCallback((element) => {
    const scroller = element?.parentElement
    if (!element || !scroller) return
    end.current = element
    const onScroll = () => {
      isAtEnd.current = scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight < NEAR
    }
    scroller.addEventListener('scroll', onScroll, { passive: true })
    return () => scroller.removeEventListener('scroll', onScroll)
  }, [])
}
