import { HoldfastError } from '../errors.ts'

const RETRY_AFTER_SECONDS = 5

export interface FewAtOnceOptions {
  most: number
  /** How many of them may be of one caller. @default all */
  mostOfOne?: number
}

/** `caller` is null where nobody knows who it is. */
export type FewAtOnce = <T>(caller: string | null, work: () => Promise<T>) => Promise<T>

/** Lets so many of something be under way in this process, and refuses the others at once: none of them waits. */
export function createFewAtOnce({ most, mostOfOne = most }: FewAtOnceOptions): FewAtOnce {
  let underWay = 0
  const callers = new Map<string, number>()

  function count(caller: string | null, by: 1 | -1): void {
    underWay += by
    if (caller === null) return
    const left = (callers.get(caller) ?? 0) + by
    if (left > 0) callers.set(caller, left)
    else callers.delete(caller)
  }

  return async (caller, work) => {
    if (underWay >= most || (caller !== null && (callers.get(caller) ?? 0) >= mostOfOne)) {
      throw new HoldfastError(
        'UNAVAILABLE',
        'Too many of these are being read right now. Try again shortly.',
        { retryAfterSeconds: RETRY_AFTER_SECONDS },
      )
    }
    count(caller, 1)
    try {
      return await work()
    } finally {
      count(caller, -1)
    }
  }
}
