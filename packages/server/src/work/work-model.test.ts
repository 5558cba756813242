import { isTerminal, type TaskStatus, TRANSITIONS } from '@holdfast/shared'
import fc from 'fast-check'
import pino from 'pino'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readAuditTrail, startAuditTrail } from '../../test/audit-trail.ts'
import { type Acted, createModelWorker, type ModelWorker, OUTCOMES } from '../../test/model-worker.ts'
import { queueWork } from '../../test/queue-work.ts'
import { untold } from '../../test/record-notices.ts'
import { createScriptedProvider } from '../../test/scripted-provider.ts'
import { scriptedTypes } from '../../test/scripted-types.ts'
import { createTestSettle } from '../../test/settle-task.ts'
import { createTestDatabase, type TestDatabase } from '../../test/test-database.ts'
import { connect, type Sql } from '../database/connect.ts'
import { errorCode } from '../database/database-errors.ts'
import { retryDeadlock } from '../database/retry-deadlock.ts'
import { transaction } from '../database/transaction.ts'
import { ensureBudgets } from '../engine/budgets.ts'
import { HoldfastError } from '../errors.ts'
import { createConversation } from '../plugins/conversations/conversations.ts'
import { cancelTask } from '../tasks/cancel-task.ts'
import { hastenPolls } from './poll/hasten-polls.ts'
import { sweepWaiting } from './send/sweep-waiting.ts'

/*
 * Several workers, each with its claims in hand, take random steps against a real PostgreSQL, up to three at the very
 * same time. A paused worker is one whose turn does not come; a dead one forgets what it held. Every write is kept in
 * an audit trail by whoever made it, and after every round the rules are checked against it.
 */

const WORKERS = 3
const USER = 'ada'
const LEASE_MS = 60_000

const ACTIONS = {
  /** For a while, or so that it is lost at once to whoever comes next. */
  claim: 8,
  act: 16,
  /** Every lease runs out. */
  'time passes': 1,
  die: 1,
  cancel: 1,
  /** Somebody begins to watch. */
  hasten: 1,
  /** A webhook: due now, and the epoch rises. */
  'wake up': 1,
  requeue: 1,
  'requeue without an attempt': 1,
  'sweep those who wait': 1,
} as const
type Action = keyof typeof ACTIONS

interface Step {
  worker: number
  action: Action
  pick: number
  outcome: number
}

const step: fc.Arbitrary<Step> = fc.record({
  worker: fc.nat(WORKERS - 1),
  action: fc.oneof(
    ...Object.entries(ACTIONS).map(([action, weight]) => ({
      weight,
      arbitrary: fc.constant(action as Action),
    })),
  ),
  pick: fc.nat(5),
  outcome: fc.nat(OUTCOMES - 1),
})

/** What is done at the same moment: one step of each of some workers. */
const round = fc.uniqueArray(step, { minLength: 1, maxLength: WORKERS, selector: ({ worker }) => worker })

/**
 * Counterexamples of the past, by seed and path. The path goes on to the neighbours of the shrunk course: which of them
 * fails also depends on who comes first in PostgreSQL.
 *
 * 186857704: a worker writes an acceptance down and loses its connection before it hears so. Another worker polls the
 * task and completes it. The first worker writes the acceptance again, finds an ended task, and once queued a cancel.
 */
const FAILED_ONCE = [
  {
    seed: 186857704,
    path: '146:7:2:11:7:3:5:3:5:18:4:4:4:6:5:6:0:3:2:34:41:33:5:4:12:21:10:29:8:12:3:7:10:26:27:3:4:8:4:7:24:4:5:14:13:27:21:28:17',
  },
]

const alone = (worker: number, action: Action, pick: number, outcome: number): Step[] => [
  { worker, action, pick, outcome },
]

/** What that seed found, one step after the other, so that no chance is left in it. */
const ACCEPTED_AGAIN_AFTER_THE_END: Step[][] = [
  alone(0, 'claim', 0, 1),
  // Accepted; the worker keeps the claim, since it has not heard that this was written.
  alone(0, 'act', 3, 1),
  alone(1, 'claim', 0, 0),
  alone(1, 'act', 0, 0),
  alone(0, 'act', 3, 0),
]

let database: TestDatabase
let sql: Sql
let provider = ''
const workers: ModelWorker[] = []
beforeAll(async () => {
  database = await createTestDatabase()
  sql = connect(database.url, { maxConnections: 2 })
  await startAuditTrail(sql)
  for (let index = 0; index < WORKERS; index += 1) {
    const applicationName = `worker-${index}`
    const own = connect(database.url, { maxConnections: 1, applicationName })
    workers.push(createModelWorker(applicationName, own, () => provider))
  }
})
afterAll(async () => {
  await Promise.all([sql, ...workers.map((worker) => worker.sql)].map((pool) => pool.end()))
  await database.drop()
})

async function take(worker: ModelWorker, { action, pick, outcome }: Step, taskIds: string[]): Promise<Acted> {
  const taskId = taskIds[pick % taskIds.length] ?? ''
  const nothing: Acted = { deed: { kind: 'nothing' } }
  switch (action) {
    case 'claim':
      return worker.claim(outcome % 4 === 1 ? LEASE_MS : 0)
    case 'act':
      return worker.held.length > 0 ? worker.act(pick, outcome) : worker.claim(0)
    case 'die':
      worker.die()
      return nothing
    case 'time passes':
      // Two workers may do this at once, and PostgreSQL may walk the rows in another order for each.
      await retryDeadlock(
        () => worker.sql`update holdfast.work set due_at = now() where provider = ${provider}`,
      )
      return nothing
    case 'cancel':
      return cancel(worker.sql, taskId)
    case 'hasten':
      await hastenPolls(untold(worker.sql), USER, 0)
      return nothing
    case 'wake up':
      await worker.sql`update holdfast.work set due_at = now(), epoch = epoch + 1 where task_id = ${taskId} and kind = 'poll'`
      return nothing
    case 'requeue':
    case 'requeue without an attempt':
      await requeue(worker.sql, taskId, action === 'requeue' ? 1 : 0)
      return nothing
    case 'sweep those who wait':
      await sweepWaiting({
        ...untold(worker.sql),
        settle: createTestSettle(worker.sql),
        log: pino({ level: 'silent' }),
        alert: () => {},
        types: scriptedTypes(provider, { waitLimitMs: 0 }),
      })
      return { deed: { kind: 'swept' } }
  }
}

async function cancel(own: Sql, taskId: string): Promise<Acted> {
  try {
    await cancelTask(own, createTestSettle(own, undefined, { canCancel: () => true }), USER, taskId)
  } catch (error) {
    if (!(error instanceof HoldfastError) || error.code !== 'TASK_ALREADY_ENDED') throw error
  }
  return { deed: { kind: 'nothing' } }
}

/** As whoever takes work away from a worker of ours does it; the database holds them to raising the count. */
async function requeue(own: Sql, taskId: string, attempts: number): Promise<void> {
  await transaction(own, async (tx) => {
    await tx`select from holdfast.work where task_id = ${taskId} and kind = 'poll' for update`
    const [task] = await tx<{ status: TaskStatus }[]>`
      select status from holdfast.tasks where id = ${taskId} for update
    `
    if (task?.status !== 'running') return
    await tx`delete from holdfast.work where task_id = ${taskId} and kind = 'poll'`
    await tx`
      update holdfast.tasks set status = 'pending', attempts = attempts + ${attempts}, started_at = null, deadline_at = null
      where id = ${taskId}
    `
    await tx`insert into holdfast.work (task_id, kind, provider) values (${taskId}, 'send', ${provider})`
    if (attempts === 0) throw new Error('the database let a task be requeued without raising its attempts')
  }).catch((error: unknown) => {
    if (attempts > 0 || errorCode(error) !== '23514') throw error
  })
}

interface State {
  id: string
  status: TaskStatus
  attempts: number
  unread: number
  messages: number
  work: string[]
}

const readStates = (taskIds: string[]) => sql<State[]>`
  select t.id, t.status, t.attempts, c.unread_count as unread,
    (select count(*)::int from holdfast.messages m where m.task_id = t.id) as messages,
    array(select w.kind from holdfast.work w where w.task_id = t.id order by w.kind) as work
  from holdfast.tasks t join holdfast.conversations c on c.id = t.conversation_id
  where t.id = any(${taskIds}::uuid[])
`

/** What the rules need to remember of what was done so far. */
interface Memory {
  lastEntry: number
  claims: Set<string>
  /** Per task: creates that have left and were not taken back, by the marks: at most one is ever out. */
  sent: Map<string, number>
  settles: Map<string, number>
  /** Per task: how often its provider was to be asked to stop. */
  cancels: Map<string, number>
  /** Of each row of work, after everything that was written so far. */
  epochs: Map<string, number>
  /** The tasks that are marked as being sent. */
  marked: Set<string>
}

async function check(taskIds: string[], memory: Memory, done: [ModelWorker, Acted][]): Promise<void> {
  const [entries, states] = await Promise.all([
    readAuditTrail(sql, { taskIds, afterId: memory.lastEntry }),
    readStates(taskIds),
  ])
  memory.lastEntry = entries.at(-1)?.id ?? memory.lastEntry

  /** The epoch that the row of a guarded write had when its writer began to write. */
  const epochAtWrite = new Map<string, number | undefined>()
  const guardOf = new Map(done.map(([worker, { fenced }]) => [worker.name, fenced]))
  const sweeping = new Set(
    done.filter(([, { deed }]) => deed.kind === 'swept').map(([worker]) => worker.name),
  )
  const markers = new Set(done.map(([worker]) => worker.name))
  /** Which worker has set which mark now. */
  const marks = new Set<string>()
  const unmarked = new Set(
    done.flatMap(([{ name }, { deed }]) => (deed.kind === 'unmarked' ? `${name} ${deed.taskId}` : [])),
  )
  for (const { actor, at, taskId, before, after } of entries) {
    const guard = guardOf.get(actor)
    if (guard && !epochAtWrite.has(actor)) epochAtWrite.set(actor, memory.epochs.get(guard.workId))
    if (at === 'work' && after) memory.epochs.set(String(after.id), after.epoch)
    if (at === 'work' && !before && after?.kind === 'cancel') {
      must(count(memory.cancels, taskId) === 1, 'a provider was to be asked to stop the same task twice')
    }
    if (at === 'provider_jobs') {
      if (after?.sending_at) memory.marked.add(taskId)
      else memory.marked.delete(taskId)
      // In the order of the writes: of two steps of one round, the second may have taken the mark back before the first
      // claimed the task.
      if (markers.has(actor) && !before?.sending_at && after?.sending_at) {
        must(count(memory.sent, taskId) === 1, 'a task was sent twice')
        marks.add(`${actor} ${taskId}`)
      }
      if (before?.sending_at && !after?.sending_at) {
        must(unmarked.has(`${actor} ${taskId}`), 'a mark was taken back by somebody else')
        memory.sent.set(taskId, 0)
      }
    }
    if (at !== 'tasks' || !before || !after) continue
    // Only allowed transitions, a requeue only with a higher count, and the end is the end.
    const rule = TRANSITIONS[before.status][after.status]
    must(rule !== 'refused', `a task went from ${before.status} to ${after.status}`)
    must(rule !== 'requeue' || after.attempts > before.attempts, 'a requeue was not counted')
    must(after.version === before.version + 1, 'a version was left out')
    if (!isTerminal(after.status) || isTerminal(before.status)) continue
    count(memory.settles, taskId)
    // Waiting has a limit, but what has been sent does not wait any more.
    must(!sweeping.has(actor) || !memory.marked.has(taskId), 'what had been sent was given up as waiting')
  }

  const settledNow = new Map<string, number>()
  for (const [worker, { deed, fenced }] of done) {
    // A claim is never given twice, and whoever holds an older one writes nothing at all.
    if (deed.kind === 'claimed') {
      for (const { workId, epoch, phase, taskId } of deed.claims) {
        must(!memory.claims.has(`${workId}@${epoch}`), 'the same claim was given twice')
        memory.claims.add(`${workId}@${epoch}`)
        // Whoever sends has set the mark; one that was there already is somebody else's create.
        if (phase === 'sending') must(marks.has(`${worker.name} ${taskId}`), 'a task was sent without a mark')
      }
    }
    if (fenced?.wrote) must(epochAtWrite.get(worker.name) === fenced.epoch, 'a stale claim wrote')
    if (fenced && !fenced.wrote) {
      must(!entries.some(({ actor }) => actor === worker.name), 'a refused write left something behind')
    }
    if (deed.kind === 'settle' && deed.result === 'settled') count(settledNow, deed.taskId)
  }

  for (const { id, status, messages, work } of states) {
    // Whoever else tried, one settle won, and it wrote one message at most.
    must((memory.settles.get(id) ?? 0) === (isTerminal(status) ? 1 : 0), 'a task did not end exactly once')
    must((settledNow.get(id) ?? 0) <= 1, 'two settles both say that they won')
    must(messages === (status === 'completed' ? 1 : 0), `a ${status} task has ${messages} messages`)
    // Nothing is left to do for what has ended, except to stop it at its provider, or to find out what became of a create
    // that was under way; all else has its next step.
    const steps = {
      pending: ['send'],
      running: ['poll'],
      completed: [''],
      failed: ['', 'cancel'],
      cancelled: ['', 'cancel', 'send'],
    }
    must(
      steps[status].includes(work.join()),
      `what is to be done for a ${status} task: ${work.join() || 'nothing'}`,
    )
  }
  const completed = states.filter(({ status }) => status === 'completed').length
  must(
    states.every(({ unread }) => unread === completed),
    'the conversation does not count its messages',
  )
}

/** Not `expect`: these are checked some hundred thousand times. */
function must(holds: boolean, otherwise: string): void {
  if (!holds) throw new Error(otherwise)
}

function count(counts: Map<string, number>, key: string): number {
  const next = (counts.get(key) ?? 0) + 1
  counts.set(key, next)
  return next
}

/** A fact about a task that was taken away and given to nobody yet: the database refuses what would skip `running`. */
function isCompletionOfRequeued(error: unknown): boolean {
  return errorCode(error) === '23514' && String(error).includes('from pending to completed')
}

/**
 * No course begins after the limit. fast-check's own time limit would leave one at work behind the test's back, on the
 * same workers as the next.
 */
function keepsTheRules({ withinMs }: { withinMs: number }) {
  const endAt = performance.now() + withinMs
  return fc.asyncProperty(fc.array(round, { minLength: 8, maxLength: 16 }), async (rounds) => {
    if (performance.now() > endAt) return
    const scripted = createScriptedProvider()
    provider = scripted.name
    for (const worker of workers) worker.die()
    await ensureBudgets(sql, scripted)
    const { conversation } = await createConversation(untold(sql), USER, { title: 'foxes' })
    // Polls come due as soon as their lease lets them.
    await sql`
    insert into holdfast.poll_plans (provider, type, ages_ms, intervals_ms) values (${provider}, 'image', '{0}', '{0}')
  `
    const waiting = await queueWork(sql, { provider, kind: 'send', count: 2, userId: USER })
    const running = await queueWork(sql, { provider, kind: 'poll', count: 2, userId: USER })
    const taskIds = [...waiting, ...running]
    await sql`update holdfast.tasks set conversation_id = ${conversation.id} where id = any(${taskIds}::uuid[])`
    const memory: Memory = {
      lastEntry: 0,
      claims: new Set(),
      sent: new Map(running.map((id) => [id, 1])),
      settles: new Map(),
      cancels: new Map(),
      epochs: new Map(),
      marked: new Set(),
    }

    const play = async (steps: Step[]) => {
      const done = await Promise.all(
        steps.map(async (taken): Promise<[ModelWorker, Acted][]> => {
          const worker = workers[taken.worker]
          if (!worker) throw new Error(`there is no worker ${taken.worker}`)
          try {
            return [[worker, await take(worker, taken, taskIds)]]
          } catch (error) {
            if (isCompletionOfRequeued(error)) return []
            throw error
          }
        }),
      )
      await check(taskIds, memory, done.flat())
    }
    for (const steps of rounds) await play(steps)

    // Whatever state they were left in, one worker that does its job brings them all to an end.
    for (const worker of workers) worker.die()
    for (let turn = 0; turn < 3; turn += 1) {
      await play(alone(0, 'time passes', 0, 0))
      await play(alone(0, 'claim', 0, 1))
      while ((workers[0]?.held.length ?? 0) > 0) await play(alone(0, 'act', 0, 0))
      if ((await readStates(taskIds)).every(({ work }) => work.length === 0)) break
    }
    for (const { status, work } of await readStates(taskIds)) {
      expect(isTerminal(status)).toBe(true)
      expect(work).toEqual([])
    }
  })
}

describe('the engine under random interleavings', () => {
  it('keeps every rule, and loses no task', async () => {
    await fc.assert(keepsTheRules({ withinMs: 100_000 }), {
      examples: [[ACCEPTED_AGAIN_AFTER_THE_END]],
      numRuns: 200,
    })
  }, 180_000)

  it.each(FAILED_ONCE)(
    'keeps them where it did not once: seed $seed',
    async (counterexample) => {
      await fc.assert(keepsTheRules({ withinMs: 10_000 }), { ...counterexample, endOnFailure: true })
    },
    180_000,
  )
})
