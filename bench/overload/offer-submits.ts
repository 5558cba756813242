import type { Callers } from '../lifecycle/callers.ts'
import { openLoop } from '../lifecycle/open-loop.ts'

export interface Offer {
  offered: number
  /** As it came about: whoever offers may be too slow for what was asked. */
  perSecond: number
  /** Of the tasks that were made. */
  ids: string[]
  /** How long each of their answers took, from when the submit was due. */
  ms: number[]
  refused: number
  /** Of those that were refused. */
  withoutRetryAfter: number
  otherAnswers: number
  /** What they were, each once. */
  others: ReadonlySet<string>
}

/** So many submits a second, whether or not the ones before were answered; none comes again. */
export async function offerSubmits(
  callers: Callers,
  { perSecond, seconds }: { perSecond: number; seconds: number },
): Promise<Offer> {
  const offer = { offered: 0, refused: 0, withoutRetryAfter: 0, otherAnswers: 0 }
  const ids: string[] = []
  const ms: number[] = []
  const others = new Set<string>()
  const began = performance.now()
  let lastAt = began
  await openLoop({ perSecond, seconds }, async (dueAt) => {
    offer.offered += 1
    lastAt = performance.now()
    try {
      const { status, retryAfter, id, body } = await callers.attempt()
      if (id !== null) {
        ids.push(id)
        ms.push(performance.now() - dueAt)
      } else if (status === 503) {
        offer.refused += 1
        if (!(Number(retryAfter) > 0)) offer.withoutRetryAfter += 1
      } else {
        offer.otherAnswers += 1
        others.add(`${status} ${body.slice(0, 200)}`)
      }
    } catch (error) {
      offer.otherAnswers += 1
      others.add(error instanceof Error ? error.message : String(error))
    }
  })
  return { ...offer, perSecond: offer.offered / ((lastAt - began) / 1_000), ids, ms, others }
}
