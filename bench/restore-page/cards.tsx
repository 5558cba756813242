import { memo, type ReactNode, useLayoutEffect } from 'react'

export interface Card {
  id: string
  status: string
  prompt: string
  progress: number | null
}

/** What the benchmark waits for and reads: milliseconds since the navigation began. */
export interface Marks {
  painted?: number
  confirmed?: number
}

declare global {
  interface Window {
    marks: Marks
  }
}

window.marks = {}
const asked = new URLSearchParams(location.search)
/** How many tasks this user has. */
const expected = Number(asked.get('tasks'))
/** Whose they are; the server takes a name for a token. */
export const userId = asked.get('user') ?? ''

/**
 * The frame with the change is on its way to the screen once a task runs after its animation frame. That task goes before
 * all others that wait: React's own for effects would count as painting, with whatever a contender does in them.
 */
function mark(name: keyof Marks): void {
  if (window.marks[name] !== undefined) return
  window.marks[name] = Number.NaN
  const now = () => {
    window.marks[name] = performance.now()
  }
  requestAnimationFrame(() => scheduler.postTask(now, { priority: 'user-blocking' }))
}

const OneCard = memo(({ id, status, prompt, progress }: Card) => (
  <article id={id}>
    <h2>{prompt}</h2>
    <p>{status}</p>
    <progress max={100} value={progress ?? undefined} />
  </article>
))

/** The same for all contenders. `confirmed`: the server has answered for all of them. */
export function Cards({ cards, confirmed }: { cards: readonly Card[]; confirmed: boolean }): ReactNode {
  const complete = cards.length === expected
  useLayoutEffect(() => {
    if (complete) mark('painted')
    if (complete && confirmed) mark('confirmed')
  }, [complete, confirmed])
  return cards.map((card) => <OneCard key={card.id} {...card} />)
}
