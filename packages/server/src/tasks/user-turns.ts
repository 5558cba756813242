import { HoldfastError } from '../errors.ts'

export type TakeUserTurn = <T>(userId: string, work: () => Promise<T>) => Promise<T>

/**
 * Does the work of each user one at a time, in the order in which it came, and that of different users side by side.
 * They would wait for each other in PostgreSQL anyway, each with a connection of the pool in its hands.
 *
 * @param most how many of one user may wait; more are refused
 */
export function createUserTurns(most: number): TakeUserTurn {
  const users = new Map<string, { last: Promise<unknown>; waiting: number }>()

  return async (userId, work) => {
    const turns = users.get(userId) ?? { last: Promise.resolve(), waiting: 0 }
    if (turns.waiting >= most) {
      throw new HoldfastError(
        'RATE_LIMITED',
        `At most ${most} tasks of one user are taken on at the same moment. Send them one after the other.`,
        { retryAfterSeconds: 1 },
      )
    }
    users.set(userId, turns)
    turns.waiting += 1
    const turn = turns.last.then(work)
    // Whoever comes next does not care how this one ended.
    turns.last = turn.catch(() => {})
    try {
      return await turn
    } finally {
      turns.waiting -= 1
      if (turns.waiting === 0) users.delete(userId)
    }
  }
}
