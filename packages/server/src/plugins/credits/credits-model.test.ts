import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findCreditViolations } from '../../../test/credit-rules.ts'
import { createCreditsWorld, ENDS } from '../../../test/credits-world.ts'
import { untold } from '../../../test/record-notices.ts'
import { createTestDatabase, type TestDatabase } from '../../../test/test-database.ts'
import { connect, type Sql } from '../../database/connect.ts'
import { transaction } from '../../database/transaction.ts'
import { HoldfastError } from '../../errors.ts'
import { cancelTask } from '../../tasks/cancel-task.ts'
import { retryTask } from '../../tasks/retry-task.ts'
import type { CancelPolicy } from '../../tasks/task-types.ts'
import { createConversation } from '../conversations/conversations.ts'
import { createCredits } from './credits.ts'
import { giveBack } from './give-back.ts'

/*
 * Several workers, each with a connection of its own, do to the same few tasks and accounts whatever can be done, all at
 * the same time. After every round the rules are read off the tables: balances are what the ledger adds up to and never
 * below zero, no ended task has an open hold, none was both spent and given back, and messages say what was spent.
 */

const WORKERS = 4
const USERS = ['ada', 'bob'] as const
const RUNS = 60
/** Few enough that users run out of them now and then. */
const INITIAL = 13
const PRICE = 4

const ACTIONS = {
  submit: 6,
  /** With one of a few keys, so that some repeat each other. */
  'submit with a key': 3,
  /** The create leaves: a cancel from here on waits for its reply. */
  send: 6,
  accept: 6,
  'not accepted': 2,
  lost: 2,
  complete: 9,
  /** At what the provider says it took: less than was held, or more. */
  'complete with usage': 5,
  fail: 4,
  'time out': 2,
  'cancel by the user': 3,
  'cancel by the provider': 1,
  /** Most find a task that cannot be retried. */
  retry: 9,
  'give back': 3,
  'lose a file': 2,
  grant: 2,
  /** With one of a few keys. */
  'grant with a key': 2,
  /** The old rows of tasks are removed while others still work on them. */
  'remove the row': 1,
} as const
type Action = keyof typeof ACTIONS

interface Step {
  action: Action
  user: number
  pick: number
}
const step: fc.Arbitrary<Step> = fc.record({
  action: fc.oneof(
    ...Object.entries(ACTIONS).map(([action, weight]) => ({
      weight,
      arbitrary: fc.constant(action as Action),
    })),
  ),
  user: fc.nat(USERS.length - 1),
  pick: fc.nat(30),
})
/** What is done at the same moment, one step by each worker. */
const round = fc.array(step, { minLength: 1, maxLength: WORKERS })
const policy = fc.constantFrom<CancelPolicy>('refund', 'capture', 'refund-before-start')

/** Refusals that a user or an administrator may well get. */
const EXPECTED = new Set([
  'INSUFFICIENT_CREDITS',
  'TASK_ALREADY_ENDED',
  'TASK_NOT_RETRYABLE',
  'TASK_REMOVED',
  'NOTHING_TO_REFUND',
  'NOT_FOUND',
  'IDEMPOTENCY_KEY_REUSED',
])

let database: TestDatabase
const pools: Sql[] = []
beforeAll(async () => {
  database = await createTestDatabase()
  for (let worker = 0; worker < WORKERS; worker++) pools.push(connect(database.url, { maxConnections: 1 }))
})
afterAll(async () => {
  await Promise.all(pools.map((pool) => pool.end()))
  await database.drop()
})

/** Fresh accounts, so that a run that failed can be repeated by itself. */
async function startRun(onCancel: CancelPolicy) {
  const run = crypto.randomUUID().slice(0, 8)
  const users = USERS.map((name) => `${name}-${run}`)
  const conversations = await Promise.all(
    users.map(
      async (userId) =>
        (await createConversation(untold(database.sql), userId, { title: 'foxes' })).conversation.id,
    ),
  )
  const taskIds: string[] = []
  const ownIds = new Map<string, string[]>(users.map((userId) => [userId, []]))
  const done = new Map<string, number>()

  function remember(userId: string, taskId: string) {
    if (taskIds.includes(taskId)) return
    taskIds.push(taskId)
    ownIds.get(userId)?.push(taskId)
  }

  async function take(sql: Sql, { action, user, pick }: Step): Promise<void> {
    const world = createCreditsWorld(sql, {
      credits: { initial: INITIAL },
      type: {
        credits: (_, usage) => Number(usage?.took ?? PRICE),
        allowOverrun: true,
        onCancel,
      },
    })
    const userId = users[user] ?? ''
    const pickFrom = (ids: readonly string[]) => ids[pick % Math.max(1, ids.length)] ?? crypto.randomUUID()
    const taskId = pickFrom(taskIds)
    // Users see only their own tasks: of all tasks, too few cancels and retries would do anything.
    const ownId = pickFrom(ownIds.get(userId) ?? [])
    const body = { conversationId: conversations[user] ?? null }
    switch (action) {
      case 'submit':
        remember(userId, (await world.make(userId, body)).id)
        return
      case 'submit with a key': {
        const { id } = await world.make(userId, body, { idempotencyKey: `${run}-${pick % 4}` })
        remember(userId, id)
        return
      }
      case 'send':
        await world.send(taskId)
        return
      case 'accept':
        return world.accept(taskId)
      case 'not accepted':
      case 'lost':
        await world.conclude(taskId, action === 'lost' ? 'lost' : 'not-accepted')
        return
      case 'complete': {
        // Only what was accepted can complete.
        await world.accept(taskId)
        await world.settle(taskId, ENDS.completed)
        return
      }
      case 'complete with usage':
        await world.accept(taskId)
        await world.settle(taskId, { ...ENDS.completed, usage: { took: pick } })
        return
      case 'lose a file':
        await transaction(sql, async (tx, over) => {
          const [task] =
            await tx`select from holdfast.tasks where id = ${taskId} and status = 'completed' for update`
          if (task) await world.aftermath.fileLost({ tx, over }, taskId)
        })
        return
      case 'fail':
        await world.settle(taskId, ENDS.failed)
        return
      case 'time out':
        await world.settle(taskId, {
          status: 'failed',
          failure: { code: 'DEADLINE_EXCEEDED', message: 'Too late.', retryable: true },
        })
        return
      case 'cancel by the user':
        await cancelTask(sql, world.settle, userId, ownId)
        return
      case 'cancel by the provider':
        await world.settle(taskId, { status: 'cancelled', by: 'provider' })
        return
      case 'retry': {
        const input = { userId, taskId: ownId, idempotencyKey: null, traceId: 'trace' }
        remember(userId, (await retryTask(sql, world.submit, input)).task.id)
        return
      }
      case 'give back':
        await giveBack(untold(sql), { taskId, reason: 'a bad picture', actor: 'root' })
        return
      case 'grant':
        await createCredits(sql, { initial: INITIAL }).grant(userId, PRICE, {
          reason: 'x',
          key: crypto.randomUUID(),
        })
        return
      case 'grant with a key':
        await createCredits(sql, { initial: INITIAL }).grant(userId, 1 + (pick % 2), {
          reason: 'x',
          key: `${pick % 3}`,
        })
        return
      case 'remove the row':
        await sql`delete from holdfast.tasks where id = ${taskId} and finished_at is not null`
        return
    }
  }

  return {
    done,
    async play(steps: Step[]): Promise<void> {
      await Promise.all(
        steps.map(async (each, worker) => {
          try {
            await take(pools[worker] as Sql, each)
            done.set(each.action, (done.get(each.action) ?? 0) + 1)
          } catch (error) {
            if (!(error instanceof HoldfastError) || !EXPECTED.has(error.code)) throw error
            done.set(error.code, (done.get(error.code) ?? 0) + 1)
          }
        }),
      )
    },
  }
}

describe('credits, whatever happens at the same time (F8, F11, F13)', () => {
  it('balances equal the ledger, are never negative, and every hold ends once with its task', async () => {
    const done = new Map<string, number>()
    await fc.assert(
      fc.asyncProperty(
        policy,
        fc.array(round, { minLength: 10, maxLength: 25 }),
        async (onCancel, rounds) => {
          const run = await startRun(onCancel)
          for (const steps of rounds) {
            await run.play(steps)
            expect(await findCreditViolations(database.sql)).toEqual([])
          }
          for (const [what, times] of run.done) done.set(what, (done.get(what) ?? 0) + times)
        },
      ),
      { numRuns: RUNS, endOnFailure: true },
    )
    // Everything that is meant to happen did, refusals included: a model in which all is refused would prove nothing.
    for (const what of [
      ...Object.keys(ACTIONS),
      'INSUFFICIENT_CREDITS',
      'TASK_ALREADY_ENDED',
      'NOTHING_TO_REFUND',
    ])
      expect(done.get(what) ?? 0, what).toBeGreaterThan(3)
    const [ends] = await database.sql<{ captures: number; refunds: number; adjusts: number; open: number }[]>`
      select count(*) filter (where kind = 'capture')::int as captures, count(*) filter (where kind = 'refund')::int as refunds,
        count(*) filter (where kind = 'adjust')::int as adjusts
      from holdfast.credit_ledger
    `
    for (const count of Object.values(ends ?? {})) expect(count).toBeGreaterThan(10)
    // Locks are taken in one order everywhere, so that none had to be broken.
    const [stats] = await database.sql`
      select deadlocks::int from pg_stat_database where datname = current_database()
    `
    expect(stats).toEqual({ deadlocks: 0 })
  }, 180_000)
})
