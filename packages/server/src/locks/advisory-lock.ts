import { hostname } from 'node:os'
import { performance } from 'node:perf_hooks'
import type { Logger } from 'pino'
import type postgres from 'postgres'
import { gather } from '../concurrency/gather.ts'
import { outageLogOf } from '../outage-log.ts'
import { keepLease, usefulFor } from './keep-lease.ts'
import type { Held, Lock } from './lock.ts'
import { openSession, type Session } from './open-session.ts'
import { untilHeld } from './until-held.ts'

export interface AdvisoryLockOptions {
  /** Must lead to PostgreSQL itself or to a pooler in session mode; see `assertSessionPooling`. */
  url: string
  /** How long a holder may be silent before those who wait end its session. @default 10_000 */
  ttlMs?: number
  /** How often those who wait look, give or take a half. @default 250 */
  retryMs?: number
  log: Pick<Logger, 'info' | 'warn'>
  /** Named in `holdfast.lock_beats` for people who look. @default host and process */
  holder?: string
  now?: () => number
}

/** The space of our keys among all two-part advisory locks of the database; these are the letters "lock". */
const KEYS = 0x6c_6f_63_6b

/**
 * An advisory lock of PostgreSQL, held by a session of its own. It frees itself when the process dies, since then the
 * session ends. A process that is merely paused keeps its session: so the holder also beats a row, and who finds that
 * silent past the TTL ends the session.
 *
 * Ending needs the same role as the holder's (or `pg_signal_backend`), which replicas of one deployment have.
 */
export function createAdvisoryLock(options: AdvisoryLockOptions): Lock {
  const { url, ttlMs = 10_000, retryMs = 250, log, now = () => performance.now() } = options
  const holder = options.holder ?? `${hostname()}:${process.pid}`
  const outage = outageLogOf(log, 'PostgreSQL')
  const closing = new AbortController()
  // A session is granted its own lock again and again, so within it a name is first taken here.
  const taken = new Set<string>()
  const held = new Set<{ lose(reason: Error): void; free(): Promise<void> }>()
  let opening: Promise<LockSession> | null = null
  let refusalLogged = false

  function currentSession(): Promise<LockSession> {
    if (opening) return opening
    const mine = openLockSession(url, usefulFor(ttlMs))
    opening = mine
    const forget = () => {
      if (opening === mine) opening = null
    }
    mine.then(({ session }) => session.closed.addEventListener('abort', forget), forget)
    return mine
  }

  async function attempt(name: string): Promise<Held | null> {
    if (taken.has(name)) return null
    taken.add(name)
    let session: Session | undefined
    try {
      const current = await currentSession()
      session = current.session
      const sentAt = now()
      const answer = await current.tryLock({ name, holder, ttlMs })
      outage.back()
      if (answer.held) return hold(current, name, sentAt)
      if (answer.silent) await endSilentHolder(session, name)
    } catch (error) {
      // Whether the lock was granted is not known; without the session it is not.
      session?.cut(error instanceof Error ? error : new Error(String(error)))
      if (!closing.signal.aborted) outage.away(error)
    }
    taken.delete(name)
    return null
  }

  function hold(current: LockSession, name: string, grantedAt: number): Held {
    const { session } = current
    let freeing: Promise<void> | undefined

    function free(): Promise<void> {
      freeing ??= unlock(current, name)
        // The end of the session frees it as well.
        .catch(() => session.cut(new Error('A lock could not be given back.')))
        .finally(() => {
          session.closed.removeEventListener('abort', loseWithSession)
          held.delete(self)
          taken.delete(name)
        })
      return freeing
    }

    const lease = keepLease({
      ttlMs,
      retryMs,
      grantedAt,
      now,
      renew: () => current.beat({ name, holder, ttlMs }),
      onLost(reason) {
        if (!closing.signal.aborted) log.warn({ reason: reason.message, lock: name }, 'lost a lock')
        void free()
      },
    })
    const loseWithSession = () =>
      lease.lose(new Error('The lock was lost with its session.', { cause: session.closed.reason }))
    const self = { lose: lease.lose, free }
    held.add(self)
    session.closed.addEventListener('abort', loseWithSession)
    if (session.closed.aborted) loseWithSession()

    return {
      get lost() {
        return lease.lost
      },
      release() {
        lease.stop()
        return free()
      },
    }
  }

  async function endSilentHolder(session: Session, name: string): Promise<void> {
    try {
      const ended = await endIfSilent(session, name)
      if (ended) log.warn({ lock: name, ...ended }, 'ended the session of a lock holder that fell silent')
    } catch (error) {
      if (session.closed.aborted) throw error
      if (!refusalLogged) {
        refusalLogged = true
        log.warn(
          { err: error, lock: name },
          'the holder of this lock is silent, but its session may not be ended; let all replicas connect as the same role, or grant this one pg_signal_backend',
        )
      }
    }
  }

  async function close(): Promise<void> {
    const reason = new Error('The lock has been closed.')
    closing.abort(reason)
    const last = [...held]
    for (const one of last) one.lose(reason)
    await Promise.all(last.map((one) => one.free()))
    const current = await opening?.catch(() => null)
    await current?.session.end()
  }

  let closed: Promise<void> | undefined
  return {
    async acquire(name, signal) {
      closing.signal.throwIfAborted()
      return untilHeld({
        attempt: () => attempt(name),
        retryMs,
        signal: AbortSignal.any([signal, closing.signal]),
      })
    },
    isAway: () => outage.isAway,
    close() {
      closed ??= close()
      return closed
    },
  }
}

interface LockSession {
  session: Session
  /** As text: a JavaScript date has no microseconds, and this is compared for equality. */
  backendStart: string
  /** Takes the lock, if it is free, and writes the first beat. Those of several names go together. */
  tryLock(beat: Beat): Promise<{ held: boolean; silent: boolean }>
  /** Says that we are alive. False: the row has become another's. Those of several names go together. */
  beat(beat: Beat): Promise<boolean>
}

async function openLockSession(url: string, answerWithinMs: number): Promise<LockSession> {
  const session = await openSession(url, { applicationName: 'holdfast lock', answerWithinMs })
  try {
    const [row] = await session.run(
      (sql) => sql<{ start: string }[]>`
        select backend_start::text as start from pg_stat_activity where pid = pg_backend_pid()
      `,
    )
    if (!row) throw new Error('PostgreSQL does not list the session of the lock in pg_stat_activity.')
    return withStatements(session, row.start)
  } catch (error) {
    session.cut(new Error('The session of the lock could not be prepared.'))
    throw error
  }
}

interface Beat {
  name: string
  holder: string
  ttlMs: number
}

/** A process holds a lock for each provider, and its timers ring together: one statement serves them all. */
function withStatements(session: Session, backendStart: string): LockSession {
  const each = <R>(together: (beats: readonly Beat[]) => Promise<readonly R[]>) =>
    gather<Beat, R>({
      together,
      alone: async (beat) => (await together([beat]))[0] as R,
      isHopeless: () => true,
    })
  return {
    session,
    backendStart,
    tryLock: each((beats) => tryLocks(session, backendStart, beats)),
    beat: each((beats) => writeBeats(session, backendStart, beats)),
  }
}

async function tryLocks(
  session: Session,
  backendStart: string,
  beats: readonly Beat[],
): Promise<{ held: boolean; silent: boolean }[]> {
  const rows = await session.run(
    (sql) => sql<{ name: string; held: boolean; silent: boolean }[]>`
      with tried as materialized (
        select b.*, pg_try_advisory_lock(${KEYS}::int, hashtext(b.name)) as held from ${beatsOf(sql, beats)}
      ), first_beat as (
        insert into holdfast.lock_beats (name, pid, backend_start, holder, ttl_ms, beat_at)
        select name, pg_backend_pid(), ${backendStart}::text::timestamptz, holder, ttl_ms, now() from tried where held
        on conflict (name) do update set
          pid = excluded.pid, backend_start = excluded.backend_start, holder = excluded.holder,
          ttl_ms = excluded.ttl_ms, beat_at = excluded.beat_at
      )
      select t.name, t.held, not t.held and exists (
        select from holdfast.lock_beats l
        where l.name = t.name and l.beat_at + l.ttl_ms * interval '1 ms' < now()
      ) as silent
      from tried t
    `,
  )
  const answers = new Map(rows.map((row) => [row.name, row]))
  return beats.map(({ name }) => answers.get(name) ?? { held: false, silent: false })
}

/** One that somebody removed is written anew. */
async function writeBeats(
  session: Session,
  backendStart: string,
  beats: readonly Beat[],
): Promise<boolean[]> {
  const rows = await session.run(
    (sql) => sql<{ name: string }[]>`
      insert into holdfast.lock_beats as beat (name, pid, backend_start, holder, ttl_ms, beat_at)
      select b.name, pg_backend_pid(), ${backendStart}::text::timestamptz, b.holder, b.ttl_ms, now()
      from ${beatsOf(sql, beats)}
      on conflict (name) do update set beat_at = excluded.beat_at
        where beat.pid = excluded.pid and beat.backend_start = excluded.backend_start
      returning name
    `,
  )
  const written = new Set(rows.map(({ name }) => name))
  return beats.map(({ name }) => written.has(name))
}

function beatsOf(sql: postgres.Sql, beats: readonly Beat[]) {
  return sql`unnest(
    ${beats.map(({ name }) => name)}::text[], ${beats.map(({ holder }) => holder)}::text[],
    ${beats.map(({ ttlMs }) => ttlMs)}::int[]
  ) as b (name, holder, ttl_ms)`
}

async function unlock({ session, backendStart }: LockSession, name: string): Promise<void> {
  await session.run(
    (sql) => sql`
      with last_beat as (
        delete from holdfast.lock_beats
        where name = ${name} and pid = pg_backend_pid() and backend_start = ${backendStart}::text::timestamptz
      )
      select pg_advisory_unlock(${KEYS}::int, hashtext(${name}))
    `,
  )
}

/**
 * Ends the session that the silent beat names, if it is still the one that holds this very lock. All is looked at
 * once more in this one statement: the holder may have woken, or its process id may have become a stranger's.
 */
async function endIfSilent(session: Session, name: string): Promise<{ holder: string; pid: number } | null> {
  const [row] = await session.run(
    (sql) => sql<{ holder: string; pid: number; ended: boolean }[]>`
      select beat.holder, beat.pid, pg_terminate_backend(beat.pid) as ended
      from holdfast.lock_beats as beat
      join pg_stat_activity as activity using (pid, backend_start)
      join pg_locks as lock using (pid)
      where beat.name = ${name}
        and beat.beat_at + beat.ttl_ms * interval '1 ms' < now()
        and lock.locktype = 'advisory' and lock.granted and lock.objsubid = 2
        and lock.database = (select oid from pg_database where datname = current_database())
        and lock.classid = ${KEYS}::int::oid and lock.objid = hashtext(${name})::oid
    `,
  )
  return row?.ended ? { holder: row.holder, pid: row.pid } : null
}
