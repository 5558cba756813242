import { createMutex, type Mutex } from '../concurrency/mutex.ts'
import { HoldfastError } from '../errors.ts'

export type TakeUserTurn = <T>(userId: string, work: () => Promise<T>) => Promise<T>

/**
 * Does the work of each user one at a time, in the order in which it came, and that of different users side by side.
 * They would wait for each other in PostgreSQL anyway, each with a connection of the pool in its hands.
 *
 * @param most how many of one user may wait; more are refused
 */
export function createUserTurns(most: number): TakeUserTurn {
  const users = new Map<string, { take: Mutex; waiting: number }>()

  return async (userId, work) => {
    const turns = users.get(userId) ?? { take: createMutex(), waiting: 0 }
    if (turns.waiting >= most) {
      throw new HoldfastError(
        'RATE_LIMITED',
        `At most ${most} tasks of one user are taken on at the same moment. Send them one after the other.`,
        { retryAfterSeconds: 1 },
      )
    }
    users.set(userId, turns)
    turns.waiting += 1
    try {
      return await turns.take(work)
    } finally {
      turns.waiting -= 1
      if (turns.waiting === 0) users.delete(userId)
    }
  }
}
