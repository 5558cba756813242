import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import type postgres from 'postgres'
import { isFinished, readCaseState } from './case-state.ts'
import { type CaseReport, type CrashCase, FINISH_WITHIN_MS, LAST_STEPS_MS } from './crash-case.ts'
import type { CrashLab } from './crash-lab.ts'
import { findUntidiness, isTidy } from './find-untidiness.ts'
import { type HouseState, readHouseState } from './house-state.ts'
import { letTimePass } from './let-time-pass.ts'
import { playOut } from './play-out.ts'
import type { TidyScenario } from './scenario.ts'
import { onStage, type Stage } from './stage.ts'
import { THINGS, type Thing } from './things.ts'
import { until } from './until.ts'

const DAY_MS = 24 * 60 * 60_000

/** A first process runs many tasks to their end; time passes; a server dies while it sweeps, and another one follows. */
export function runTidy(lab: CrashLab, crash: CrashCase<TidyScenario>): Promise<CaseReport> {
  const storeFolder = lab.newFile('store')
  const things = new Map<string, Thing>()
  const look = (sql: postgres.Sql) => readHouseState(sql, storeFolder, [...things.keys()])
  return onStage(lab, { storeFolder, look }, (stage) => play(lab, crash, { stage, things, look }))
}

interface House {
  stage: Stage<HouseState>
  things: Map<string, Thing>
  look(sql: postgres.Sql): Promise<HouseState>
}

async function play(
  lab: CrashLab,
  { scenario, kill, record }: CrashCase<TidyScenario>,
  house: House,
): Promise<Omit<CaseReport, 'said'>> {
  const { stage, things, look } = house
  const { sql, simulator } = stage
  await furnish(house)
  for (const [id, thing] of things) await age(sql, id, thing)
  await addOtherRows(sql, [...things.keys()][0] ?? '')
  const before = await look(sql)
  const created = simulator.creates()
  const buried = stage.atDeath.length

  const recordFile = record ? lab.newFile('passed') : undefined
  const watched = await stage.start({
    sourcesFile: lab.sourcesFile,
    armAt: scenario.armAt,
    kill,
    recordFile,
  })
  stage.succeed(watched)
  const tidy = () =>
    until('a tidy house', async () => isTidy({ things, end: await look(sql) }), {
      withinMs: FINISH_WITHIN_MS,
    }).catch(() => undefined)
  const died = await playOut(stage, watched, { dies: kill !== undefined, done: tidy })
  // Whoever takes too much takes it in a sweep to come.
  if (died) await sleep(LAST_STEPS_MS)

  const end = await look(sql)
  const creates = simulator.creates() - created
  const violations = findUntidiness({ things, before, atDeath: stage.atDeath.slice(buried), end, creates })
  return {
    died,
    outcome: violations.length === 0 ? 'swept' : 'untidy',
    creates,
    sends: creates,
    messages: Object.values(end.things).filter(({ message }) => message).length,
    violations,
    passed: recordFile ? (await readFile(recordFile, 'utf8')).trim().split('\n') : [],
  }
}

/** All tasks ended, all files stored, and nobody there. */
async function furnish({ stage, things }: House): Promise<void> {
  const first = await stage.start()
  const conversationId = randomUUID()
  await stage.client.createConversation(conversationId)
  for (const thing of THINGS) {
    const key = randomUUID()
    const { task } = await stage.client.submit(
      {
        type: 'image',
        params: { prompt: thing.prompt },
        ...(thing.talkedAbout ? { conversationId } : {}),
        placeholderId: `placeholder-${key}`,
      },
      key,
    )
    things.set(task.id, thing)
  }
  await until('the end of all tasks', async () => isFinished(await readCaseState(stage.sql)), {
    withinMs: FINISH_WITHIN_MS,
  })
  await first.kill()
  await stage.bury(first)
}

async function age(sql: postgres.Sql, taskId: string, { days, unnoted }: Thing): Promise<void> {
  await letTimePass(sql, taskId, days * DAY_MS)
  if (!unnoted) return
  await sql`
    update holdfast.artifacts set state = 'remote', object_key = null, bytes = null, sha256 = null where task_id = ${taskId}
  `
  // Put off, as after a try that failed: only the sweep comes by.
  await sql`
    insert into holdfast.work (task_id, kind, provider, due_at) values (${taskId}, 'copy', 'kie', now() + interval '1 h')
  `
}

/** Of each kind of other rows that have their time, one past it and one within it. */
async function addOtherRows(sql: postgres.Sql, taskId: string): Promise<void> {
  await sql`
    insert into holdfast.webhook_deliveries (provider, delivery_id, received_at) values
      ('kie', 'old', now() - interval '8 days'), ('kie', 'new', now() - interval '6 days')
  `
  await sql`
    insert into holdfast.webhook_endpoints (id, part, events, seen_at, absent_for) values
      ('forgotten', 0, '{}', now() - interval '31 days', '30 days'),
      ('named', 1, '{}', now() - interval '31 days', '29 days')
  `
  await sql`
    insert into holdfast.deliveries (endpoint, task_id, user_id, event, version)
    select e.id, t.id, t.user_id, 'task.completed', t.version from holdfast.webhook_endpoints e, holdfast.tasks t where t.id = ${taskId}
  `
  await sql`
    insert into holdfast.work (task_id, kind, part, provider) select ${taskId}, 'deliver', part, id from holdfast.webhook_endpoints
  `
  await sql`
    insert into holdfast.budget_shares (provider, operation, replica, in_flight, expires_at) values
      ('kie', 'query', 'gone', 1, now() - interval '2 h'), ('kie', 'query', 'here', 0, now() + interval '1 h')
  `
}
