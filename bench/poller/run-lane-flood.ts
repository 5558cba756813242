import type { Lane } from '@holdfast/shared'
import { until } from '../crash/until.ts'
import { createFindings, type Finding } from './finding.ts'
import { percentile } from './measure-rate.ts'
import type { PollerLab, Stage } from './poller-lab.ts'
import { seedTasks } from './seed-tasks.ts'

const LIMIT = { perSecond: 50, inFlight: 50 }
export interface LaneFloodOptions {
  /** How many come due at once. */
  flood: number
  into: Lane
  beside: Lane
  /** How many polls beside it are timed, before the flood and during it, and how far apart they come due. */
  polls: number
  everyMs: number
  /** How much later they may be during the flood. */
  allowanceMs: number
}

/** A flood in one lane: how late are the polls of another, before it and during it? */
export async function runLaneFlood(
  lab: PollerLab,
  { flood, into, beside, polls, everyMs, allowanceMs }: LaneFloodOptions,
): Promise<Finding[]> {
  const found = createFindings(`flood in ${into}, beside ${beside}`)
  const stage = await lab.openStage({ lock: 'advisory', limits: { query: LIMIT } })
  try {
    await until('a holder', async () => (await stage.holders()).length === 1, { withinMs: 10_000 })
    const before = await measureLags(stage, beside, 'before', polls, everyMs)
    await seedTasks(stage.sql, { userId: `${into}:many`, name: 'flood', count: flood, as: 'running' })
    const from = Date.now()
    const during = await measureLags(stage, beside, 'during', polls, everyMs)
    const seconds = (Date.now() - from) / 1000

    const flooding = stage.kie.arrivals.filter(({ id, at }) => id.startsWith('flood-') && at >= from).length
    const [{ left }] = await stage.sql<[{ left: number }]>`
      select count(*)::int as left from holdfast.work where lane = ${into} and kind = 'poll' and due_at <= now()
    `
    found.atLeast('of the flood still due in the end', left, 1)
    found.atLeast('polls a second in all', (flooding + polls) / seconds, LIMIT.perSecond * 0.4)
    for (const part of [0.5, 0.95]) {
      found.atMost(
        `ms late, p${part * 100} (before: ${Math.round(percentile(before, part))})`,
        percentile(during, part),
        percentile(before, part) + allowanceMs,
      )
    }
    return found.all
  } finally {
    await stage.close()
  }
}

/** Tasks that come due one after the other, each at a known moment; the provider's log says when it was asked. */
async function measureLags(
  { sql, kie }: Stage,
  lane: Lane,
  name: string,
  count: number,
  everyMs: number,
): Promise<number[]> {
  const firstAt = await seedTasks(sql, {
    userId: `${lane}:${name}`,
    name,
    count,
    as: 'running',
    dueInMs: 500,
    everyMs,
  })
  const own = () => kie.arrivals.filter(({ id }) => id.startsWith(`${name}-`))
  await until(`${count} polls`, async () => own().length >= count, { withinMs: count * everyMs + 60_000 })
  return own().map(({ id, at }) => at - (firstAt + (Number(id.split('-')[1]) - 1) * everyMs))
}
