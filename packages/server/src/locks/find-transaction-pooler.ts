import { openSession, type Session } from './open-session.ts'

/** Each round costs up to eight round trips; one is enough unless others use the same pool at the same time. */
const ROUNDS = 8

/**
 * Whether a pooler in transaction mode (PgBouncer, Supavisor) is in between: then every transaction may run in another
 * session.
 *
 * Two clients must have two sessions of PostgreSQL, each always the same one. A pooler that hands out the session
 * used last gives the second client the first one's; one that goes round, or is used by others meanwhile, gives a
 * client that asks several times several sessions. So the second asks a varying number of times in between, and
 * sometimes keeps a transaction open while the first asks, which then has to go elsewhere.
 */
export async function findTransactionPooler(
  url: string,
  { answerWithinMs = 10_000 }: { answerWithinMs?: number } = {},
): Promise<boolean> {
  const open = () =>
    openSession(url, { applicationName: 'holdfast pooling check', answerWithinMs, prepare: false })
  const sessions: Session[] = []
  try {
    const first = await open()
    sessions.push(first)
    const second = await open()
    sessions.push(second)
    const firstIs = await backendOf(first)
    const secondIs = await backendOf(second)
    if (firstIs === secondIs) return true
    for (let round = 0; round < ROUNDS; round++) {
      if ((await backendOf(first)) !== firstIs) return true
      for (let times = 0; times <= round % 3; times++) {
        if ((await backendOf(second)) !== secondIs) return true
      }
      await second.run((sql) => sql.unsafe('begin'))
      if ((await backendOf(second)) !== secondIs || (await backendOf(first)) !== firstIs) return true
      await second.run((sql) => sql.unsafe('commit'))
    }
    return false
  } finally {
    await Promise.all(sessions.map((session) => session.end()))
  }
}

async function backendOf(session: Session): Promise<number> {
  const [row] = await session.run((sql) => sql<{ pid: number }[]>`select pg_backend_pid() as pid`)
  return row?.pid ?? 0
}
