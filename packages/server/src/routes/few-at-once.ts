import { HoldfastError } from '../errors.ts'

const RETRY_AFTER_SECONDS = 5

/** Lets so many of something be under way in this process, and refuses the others at once: none of them waits. */
export function createFewAtOnce(most: number): <T>(work: () => Promise<T>) => Promise<T> {
  let underWay = 0
  return async (work) => {
    if (underWay >= most) {
      throw new HoldfastError(
        'UNAVAILABLE',
        'Too many of these are being read right now. Try again shortly.',
        {
          retryAfterSeconds: RETRY_AFTER_SECONDS,
        },
      )
    }
    underWay += 1
    try {
      return await work()
    } finally {
      underWay -= 1
    }
  }
}
