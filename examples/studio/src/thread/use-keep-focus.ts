import { type FocusEvent, type RefObject, useLayoutEffect, useRef } from 'react'

interface FocusKeeper {
  ref: RefObject<HTMLElement | null>
  tabIndex: -1
  onFocus(): void
  onBlur(event: FocusEvent): void
}

/**
 * When a card changes, its buttons change too, and a button that goes takes the focus with it. Then the card
 * itself gets it, so that someone at the keyboard stays where they were.
 */
export function useKeepFocus(look: string): FocusKeeper {
  const ref = useRef<HTMLElement>(null)
  const hadFocus = useRef(false)
  // biome-ignore lint/correctness/useExhaustiveDependencies: a change of look is what replaces the buttons.
  useLayoutEffect(() => {
    if (hadFocus.current && document.activeElement === document.body)
      ref.current?.focus({ preventScroll: true })
  }, [look])
  return {
    ref,
    tabIndex: -1,
    onFocus: () => {
      hadFocus.current = true
    },
    onBlur: (event) => {
      // A removed element loses focus to nothing: that is the case to make up for.
      if (event.relatedTarget || document.activeElement !== document.body) hadFocus.current = false
    },
  }
}
