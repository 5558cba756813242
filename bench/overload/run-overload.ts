import type postgres from 'postgres'
import { until } from '../crash/until.ts'
import { openCallers } from '../lifecycle/callers.ts'
import type { Contender } from '../lifecycle/start-contender.ts'
import { createFindings, type Finding } from '../poller/finding.ts'
import { offerSubmits } from './offer-submits.ts'
import { openConnections } from './open-connections.ts'
import { watchMemory } from './watch-memory.ts'

export interface OverloadOptions {
  /** For how long twice the rate is offered. */
  seconds: number
  /** How long what was made may take to end. */
  endsWithinMs: number
}

export interface OverloadFigures {
  offeredPerSecond: number
  takenPerSecond: number
  offered: number
  made: number
  refused: number
  otherAnswers: number
  withoutRetryAfter: number
  unfinished: number
  rssGrowth: number
  rssMb: number
}

/** So many submits find out the rate. So many callers keep the server busy, and never fill its queue. */
const MEASURED = 3_000
const CALLERS = 256
/** Far more than may wait at the server at a time: a browser has its connection, too, before it asks. */
const CONNECTIONS = 4_000
const MOST_OFFERED = 60_000
/** Long enough for the queue to fill. What it took then is what the long overload is compared with. */
const SHORT_SECONDS = 3
const MOST_GROWTH = 1.5

/**
 * Offers twice as many submits as the server can take, first for a short while and then for long: what is refused, what
 * is made, and what becomes of that. Memory is flat if the long one takes no more of it than the short one.
 */
export async function runOverload(
  server: Contender,
  sql: postgres.Sql,
  { seconds, endsWithinMs }: OverloadOptions,
): Promise<{ found: Finding[]; figures: OverloadFigures; made: { ms: number[] } }> {
  const connections = await openConnections(server.url, { ready: CONNECTIONS })
  const callers = await openCallers(server.url, { ask: connections.ask })
  const memory = watchMemory(server.pid)

  async function overload(forSeconds: number) {
    const from = performance.now()
    const { submitted } = await callers.closedLoop({ tasks: MEASURED, callers: CALLERS })
    const takenPerSecond = MEASURED / ((performance.now() - from) / 1_000)
    const perSecond = Math.floor(Math.min(2 * takenPerSecond, MOST_OFFERED / forSeconds))
    const offer = await offerSubmits(callers, { perSecond, seconds: forSeconds })
    // Whether any is left is judged below.
    await until('all tasks to end', async () => (await countTasks(sql)).active === 0, {
      withinMs: endsWithinMs,
      everyMs: 500,
    }).catch(() => {})
    const ids = [...submitted.map(({ id }) => id), ...offer.ids]
    return { takenPerSecond, offer, ids, mostMb: memory.most(from, performance.now()) }
  }

  try {
    const before = await countTasks(sql)
    const short = await overload(SHORT_SECONDS)
    const long = await overload(seconds)
    const { offer, takenPerSecond } = long
    const ids = [...short.ids, ...long.ids]
    const unfinished = ids.length - (await countCompleted(sql, ids))
    const unknown = (await countTasks(sql)).total - before.total - ids.length
    const growth = long.mostMb / short.mostMb

    const others = new Set([...short.offer.others, ...offer.others])
    const shown = others.size > 0 ? ` (${[...others].slice(0, 5).join('; ')})` : ''
    const both = (count: (of: typeof offer) => number) => count(short.offer) + count(offer)
    const found = createFindings('overload')
    found.atLeast('submits offered a second', offer.perSecond, 1.8 * takenPerSecond)
    found.atLeast('refused with 503', offer.refused, 1)
    found.equal(
      'of these without Retry-After',
      both(({ withoutRetryAfter }) => withoutRetryAfter),
      0,
    )
    found.equal(
      `neither made nor refused${shown}`,
      both(({ otherAnswers }) => otherAnswers),
      0,
    )
    found.equal('tasks that nobody was told of', unknown, 0)
    found.equal('made and not completed', unfinished, 0)
    found.atMost(
      `memory, the most in ${seconds} s (MB: ${Math.round(long.mostMb)}) to that in ${SHORT_SECONDS} s (${Math.round(short.mostMb)})`,
      growth,
      MOST_GROWTH,
    )
    return {
      found: found.all,
      made: { ms: offer.ms },
      figures: {
        offeredPerSecond: Math.round(offer.perSecond),
        takenPerSecond: Math.round(takenPerSecond),
        offered: offer.offered,
        made: offer.ids.length,
        refused: offer.refused,
        otherAnswers: offer.otherAnswers,
        withoutRetryAfter: offer.withoutRetryAfter,
        unfinished,
        rssGrowth: Math.round(growth * 100) / 100,
        rssMb: Math.round(long.mostMb),
      },
    }
  } finally {
    memory.stop()
    await callers.close()
    await connections.close()
  }
}

async function countTasks(sql: postgres.Sql): Promise<{ total: number; active: number }> {
  const [row] = await sql<[{ total: number; active: number }]>`
    select count(*)::int as total, (count(*) filter (where status in ('pending', 'running')))::int as active
    from holdfast.tasks
  `
  return row
}

async function countCompleted(sql: postgres.Sql, ids: readonly string[]): Promise<number> {
  const [row] = await sql<[{ count: number }]>`
    select count(*)::int from holdfast.tasks where id = any(${ids as string[]}::uuid[]) and status = 'completed'
  `
  return row.count
}
