import type { Lane } from '@holdfast/shared'
import { until } from '../crash/until.ts'
import { createFindings, type Finding } from './finding.ts'
import { percentile } from './measure-rate.ts'
import type { PollerLab, Stage } from './poller-lab.ts'
import { seedTasks } from './seed-tasks.ts'

const LIMIT = { perSecond: 50, inFlight: 50 }
/** Five a second: a tenth of the budget, half of the smallest lane's share. */
const EVERY_MS = 200
/** What a flood elsewhere may add: a claim or two, on a machine that does everything at once. */
const ALLOWANCE_MS = 250

/** A flood in one lane: how late are the polls of another, before it and during it? */
export async function runLaneFlood(
  lab: PollerLab,
  { flood, into, beside, polls }: { flood: number; into: Lane; beside: Lane; polls: number },
): Promise<Finding[]> {
  const found = createFindings(`flood in ${into}, beside ${beside}`)
  const stage = await lab.openStage({ lock: 'advisory', limits: { query: LIMIT } })
  try {
    await until('a holder', async () => (await stage.holders()).length === 1, { withinMs: 10_000 })
    const before = await measureLags(stage, beside, 'before', polls)
    await seedTasks(stage.sql, { userId: `${into}:many`, name: 'flood', count: flood, as: 'running' })
    const from = Date.now()
    const during = await measureLags(stage, beside, 'during', polls)
    const seconds = (Date.now() - from) / 1000

    const flooding = stage.kie.arrivals.filter(({ id, at }) => id.startsWith('flood-') && at >= from).length
    const [{ left }] = await stage.sql<[{ left: number }]>`
      select count(*)::int as left from holdfast.work where lane = ${into} and kind = 'poll' and due_at <= now()
    `
    found.atLeast('of the flood still due in the end', left, 1)
    found.atLeast('polls a second in all', (flooding + polls) / seconds, LIMIT.perSecond * 0.6)
    for (const part of [0.5, 0.95]) {
      found.atMost(
        `ms late, p${part * 100} (before: ${Math.round(percentile(before, part))})`,
        percentile(during, part),
        percentile(before, part) + ALLOWANCE_MS,
      )
    }
    return found.all
  } finally {
    await stage.close()
  }
}

/** Tasks that come due one after the other, each at a known moment; the provider's log says when it was asked. */
async function measureLags({ sql, kie }: Stage, lane: Lane, name: string, count: number): Promise<number[]> {
  const firstAt = await seedTasks(sql, {
    userId: `${lane}:${name}`,
    name,
    count,
    as: 'running',
    dueInMs: 500,
    everyMs: EVERY_MS,
  })
  const own = () => kie.arrivals.filter(({ id }) => id.startsWith(`${name}-`))
  await until(`${count} polls`, async () => own().length >= count, { withinMs: count * EVERY_MS + 60_000 })
  return own().map(({ id, at }) => at - (firstAt + (Number(id.split('-')[1]) - 1) * EVERY_MS))
}
