import type { OpenContender } from '../contender.ts'
import { eachWithLimit } from '../each-with-limit.ts'
import { CONNECTIONS, queryProvider } from '../http-client.ts'
import { externalIdOf } from '../settings.ts'

/** Nothing but the HTTP requests: what no scheduler can beat. Twice as many in flight as connections keep those busy. */
export const openBare: OpenContender = async ({ tasks }, pool) => {
  const ids = Array.from({ length: tasks }, (_, index) => externalIdOf(index))
  return {
    seed: async () => {},
    pollAll: () => eachWithLimit(ids, CONNECTIONS * 2, (id) => queryProvider(pool, id)),
    makeDue: async () => {},
    countWaiting: async () => tasks,
    close: async () => {},
  }
}
