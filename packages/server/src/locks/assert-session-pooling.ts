import { openSession, type Session } from './open-session.ts'

export interface AssertSessionPoolingOptions {
  /** @default 10_000 */
  answerWithinMs?: number
  /** What to set instead, where it is for something else than the lock. */
  advice?: string
}

const LOCK_ADVICE = 'LOCK=redis with REDIS_URL, or LOCK=none to let all replicas work side by side'

/** Each round costs up to eight round trips; one is enough unless others use the same pool at the same time. */
const ROUNDS = 8

/**
 * Behind a pooler in transaction mode (PgBouncer, Supavisor) every transaction may run in another session, so two
 * clients both "hold" an advisory lock, and LISTEN hears nothing. Then this rejects and says what to set.
 *
 * Two clients must have two sessions of PostgreSQL, each always the same one. A pooler that hands out the session
 * used last gives the second client the first one's; one that goes round, or is used by others meanwhile, gives a
 * client that asks several times several sessions. So the second asks a varying number of times in between, and
 * sometimes keeps a transaction open while the first asks, which then has to go elsewhere.
 */
export async function assertSessionPooling(
  url: string,
  { answerWithinMs = 10_000, advice = LOCK_ADVICE }: AssertSessionPoolingOptions = {},
): Promise<void> {
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
    const check = async (session: Session, expected: number) => {
      if ((await backendOf(session)) !== expected) refuse(advice)
    }
    if (firstIs === secondIs) refuse(advice)
    for (let round = 0; round < ROUNDS; round++) {
      await check(first, firstIs)
      for (let times = 0; times <= round % 3; times++) await check(second, secondIs)
      await second.run((sql) => sql.unsafe('begin'))
      await check(second, secondIs)
      await check(first, firstIs)
      await second.run((sql) => sql.unsafe('commit'))
    }
  } finally {
    await Promise.all(sessions.map((session) => session.end()))
  }
}

async function backendOf(session: Session): Promise<number> {
  const [row] = await session.run((sql) => sql<{ pid: number }[]>`select pg_backend_pid() as pid`)
  return row?.pid ?? 0
}

function refuse(advice: string): never {
  throw new Error(
    `The database is reached through a pooler in transaction mode, which gives several replicas the same lock at once and lets none hear the others. Set LOCK_DATABASE_URL to a direct connection or a pooler in session mode (on Supabase port 5432 instead of 6543), or ${advice}.`,
  )
}
