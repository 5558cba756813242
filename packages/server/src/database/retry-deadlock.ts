import { isTransient } from './database-errors.ts'

const ATTEMPTS = 5

/**
 * Runs a statement or a transaction, again if PostgreSQL chose it as the victim of a deadlock. A statement that writes
 * many rows needs it, too, in whatever order it names them: PostgreSQL locks rows in the order of its plan, and after
 * five runs it may choose another plan for the same prepared statement on one connection and not on the next.
 */
export async function retryDeadlock<T>(run: () => PromiseLike<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await run()
    } catch (error) {
      if (!isTransient(error) || attempt === ATTEMPTS) throw error
    }
  }
}
