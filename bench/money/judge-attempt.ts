import { findCreditViolations } from '../../packages/server/test/credit-rules.ts'
import { until } from '../crash/until.ts'
import { type Attempt, hurryPolls, openScene } from './attempt.ts'
import type { MoneyLab } from './money-lab.ts'
import { PUBLIC_URL } from './settings.ts'
import type { VendorCreate } from './vendor-gate.ts'

/** What came of an attempt, by the vendors' own books and by our ledger. */
export interface Verdict {
  name: string
  /** Creates that the vendors accepted. */
  creates: number
  captured: number
  /** What the vendors did for nothing because of the user: each in words. */
  leaks: string[]
  /** What was charged for nothing. */
  overcharged: string[]
  /** Creates that came to nothing by the vendor, by us or by an administrator: nobody was charged. */
  refundedByUs: number
  /** Why it could not be played to its end. */
  broken: string | null
}

interface Row {
  id: string
  type: string
  status: string
  externalId: string | null
  held: number
  captured: number
  givenBack: number
}

const QUIET_WITHIN = { withinMs: 40_000, everyMs: 50 }
/** What the one type that is settled by usage costs in the end. */
const METERED_COST = 3

export async function judgeAttempt(lab: MoneyLab, attempt: Attempt): Promise<Verdict> {
  await lab.haveCalledBack(attempt.calledBack ?? false)
  const gates = Object.values(lab.vendors)
  const marks = gates.map(({ creates }) => creates.length)
  const [{ now }] = await lab.sql<[{ now: Date }]>`select clock_timestamp() as now`
  let broken: string | null = null
  try {
    await attempt.run(openScene(lab))
  } catch (error) {
    broken = error instanceof Error ? error.message : String(error)
  }
  for (const gate of gates) gate.release()
  const isQuiet = async () => {
    await hurryPolls(lab)
    const [busy] = await lab.sql`
      select from holdfast.tasks t where t.finished_at is null or exists (select from holdfast.work w where w.task_id = t.id)
    `
    return busy === undefined
  }
  await until('the end of all tasks', isQuiet, QUIET_WITHIN).catch((error: Error) => {
    broken ??= error.message
  })

  const rows = await lab.sql<Row[]>`
    select t.id, t.type, t.status, j.external_id as "externalId", t.credits_held::int as held,
      coalesce(sum(l.amount) filter (where l.kind = 'capture'), 0)::int as captured,
      coalesce(sum(l.amount) filter (where l.kind = 'adjust'), 0)::int as "givenBack"
    from holdfast.tasks t join holdfast.provider_jobs j on j.task_id = t.id
      left join holdfast.credit_ledger l on l.task_id = t.id
    where t.created_at >= ${now} group by t.id, j.external_id
  `
  const accepted = gates
    .flatMap(({ creates }, index) => creates.slice(marks[index]))
    .filter(({ id }) => id !== null)
  const byId = new Map(rows.map((row) => [row.externalId, row]))
  const leaks: string[] = []
  let refundedByUs = 0
  let losses = attempt.loses ?? 0
  for (const create of accepted) {
    const strange = whatIsNotOurs(create)
    if (strange) leaks.push(strange)
    const row = byId.get(create.id)
    if (!row) {
      losses -= 1
      if (losses < 0) leaks.push(`${create.vendor} works on ${create.id} for nobody`)
      else refundedByUs += 1
    } else if (row.status === 'failed' || row.givenBack > 0) {
      refundedByUs += 1
    } else {
      const worth =
        (row.type === 'metered' && row.status === 'completed' ? METERED_COST : row.held) * outputsOf(create)
      if (worth === 0 || row.captured < worth) {
        leaks.push(`a ${row.status} ${row.type} worth ${worth} cost ${row.captured}`)
      }
    }
  }
  const paidFor = new Set(accepted.map(({ id }) => id))
  const overcharged = rows
    .filter(
      ({ captured, externalId, status, held }) =>
        captured > 0 && (!paidFor.has(externalId) || status === 'failed' || captured > held),
    )
    .map(({ status, type, captured }) => `a ${status} ${type} cost ${captured}`)
  leaks.push(...(await findCreditViolations(lab.sql)))
  return {
    name: attempt.name,
    creates: accepted.length,
    captured: rows.reduce((sum, row) => sum + row.captured - row.givenBack, 0),
    leaks,
    overcharged,
    refundedByUs,
    broken,
  }
}

const COUNTS = ['n', 'num_outputs', 'num_images', 'batch_size', 'count']

/** How many results were asked for. */
function outputsOf({ body }: VendorCreate): number {
  const input = typeof body.input === 'object' && body.input !== null ? { ...body, ...body.input } : body
  const entries = Object.entries(input).filter(([name]) => COUNTS.includes(name))
  return Math.max(1, ...entries.map(([, value]) => Number(value) || 1))
}

/** What in a create is not what the operator has configured; null if nothing is. */
function whatIsNotOurs({ vendor, path, body }: VendorCreate): string | null {
  const model = {
    kie: body.model === 'google/nano-banana',
    luma: body.model === 'ray-2',
    replicate: path.includes('/black-forest-labs/flux-schnell/'),
  }[vendor]
  if (!model) return `${vendor} was asked for another model: ${JSON.stringify(body.model ?? path)}`
  const callback = body.callback_url ?? body.callBackUrl ?? body.webhook
  const isOurs = callback === undefined || String(callback).startsWith(PUBLIC_URL)
  return isOurs ? null : `${vendor} was told to call ${JSON.stringify(callback)}`
}
