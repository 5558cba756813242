import { type RefObject, useEffect, useRef } from 'react'
import { hrefOf, type Route } from './route.ts'

interface Targets {
  heading: RefObject<HTMLElement | null>
  field: RefObject<HTMLElement | null>
}

/**
 * After a switch, the heading tells a screen reader where it is; an empty conversation is there to be written in.
 * Someone who is writing is left alone, and so is a page that only just opened.
 */
export function useFocusOnNavigation(route: Route, { heading, field }: Targets): void {
  const href = hrefOf(route)
  const previous = useRef(href)
  useEffect(() => {
    const from = previous.current
    previous.current = href
    if (from === href || from === hrefOf({ at: 'start' })) return
    if (href === hrefOf({ at: 'new' })) field.current?.focus()
    else if (document.activeElement !== field.current) heading.current?.focus()
  }, [href, heading, field])
}
