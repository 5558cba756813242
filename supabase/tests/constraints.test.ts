import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Sql, Tx } from '../../packages/server/src/database/connect.ts'
import { rolledBack } from '../../packages/server/test/rolled-back.ts'
import { type Seeded, seedUser } from '../../packages/server/test/seed-user.ts'
import { createTestDatabase, type TestDatabase } from '../../packages/server/test/test-database.ts'

let database: TestDatabase
let sql: Sql
let seeded: Seeded

beforeAll(async () => {
  database = await createTestDatabase()
  sql = database.sql
  seeded = await seedUser(sql, 'ada')
})
afterAll(() => database.drop())

const task = (columns: string, values: string) =>
  `insert into holdfast.tasks (user_id, type, provider, ${columns}) values ('ada', 'image', 'kie', ${values})`
const artifact = (columns: string, values: string) =>
  `insert into holdfast.artifacts (user_id, ordinal, source_url, ${columns}) values ('ada', 1, 'https://x.example', ${values})`
const ledger = (columns: string, values: string) =>
  `insert into holdfast.credit_ledger (user_id, ${columns}) values ('ada', ${values})`
const pending = (set: string) => `update holdfast.tasks set ${set} where id = :pending`
const running = (set: string) => `update holdfast.tasks set ${set} where id = :running`
const completed = (set: string) => `update holdfast.tasks set ${set} where id = :completed`

/** One violation, or several, of every rule that the schema names. The catalog says whether one is missing here. */
const BUDGET = `insert into holdfast.budgets (provider, operation, per_second, burst, max_in_flight, tokens)`
const SHARE = `insert into holdfast.budget_shares (provider, operation, replica, in_flight, expires_at)`

const REMOVED = `insert into holdfast.removed_tasks_by_day (day, type, provider, lane, status, tasks, started, run_ms)`

const VIOLATIONS: Record<string, string[]> = {
  timeout_is_positive: [`update holdfast.tasks set timeout_ms = 0`],
  files_are_kept_for_a_while: [`update holdfast.tasks set keep_ms = 0`],
  removed_counts_are_not_negative: [
    `${REMOVED} values ('2026-01-01', 'image', 'kie', 'free_default', 'completed', -1, 0, 0)`,
  ],
  budget_operation_is_known: [`${BUDGET} values ('p', 'poll', 1, 1, 1, 1)`],
  budget_lets_something_through: [
    `${BUDGET} values ('p', 'query', 0, 1, 1, 1)`,
    `${BUDGET} values ('p', 'query', 1, 0.5, 1, 0)`,
    `${BUDGET} values ('p', 'query', 1, 1, 0, 1)`,
  ],
  tokens_are_within_the_burst: [`${BUDGET} values ('p', 'query', 1, 1, 1, 2)`],
  in_flight_is_not_negative: [
    `${BUDGET} values ('p', 'query', 1, 1, 1, 1); ${SHARE} values ('p', 'query', 'r', -1, now())`,
  ],
  plan_has_an_interval_for_each_age: [
    `insert into holdfast.poll_plans (provider, type, ages_ms) values ('p', 't', '{0}')`,
  ],
  dead_letter_kind_is_known: [`update holdfast.dead_letters set kind = 'letter'`],
  resolution_is_known: [`update holdfast.dead_letters set resolved_at = now(), resolution = 'lost'`],
  resolved_with_a_resolution: [`update holdfast.dead_letters set resolved_at = now()`],
  retried_exactly_with_its_task: [
    `update holdfast.dead_letters set resolved_at = now(), resolution = 'retried'`,
    `update holdfast.dead_letters set retry_task_id = task_id`,
  ],
  one_open_dead_letter_per_step: [
    `insert into holdfast.dead_letters (task_id, user_id, kind, provider, lane, attempts, reason) select task_id, user_id, kind, provider, lane, attempts, reason from holdfast.dead_letters`,
  ],
  endpoint_has_a_part_of_its_own: [
    `insert into holdfast.webhook_endpoints (id, part, events) select 'other', part, '{}' from holdfast.webhook_endpoints`,
  ],
  dead_lettered_only_when_failed: [running('dead_lettered = true'), completed('dead_lettered = true')],
  conversation_has_a_user: [`insert into holdfast.conversations (user_id, title) values ('', 'x')`],
  conversation_title_has_a_sane_length: [
    `insert into holdfast.conversations (user_id, title) values ('ada', '')`,
    `insert into holdfast.conversations (user_id, title) values ('ada', repeat('x', 201))`,
  ],
  unread_count_is_not_negative: [`update holdfast.conversations set unread_count = -1`],
  one_message_per_task: [
    `insert into holdfast.messages (conversation_id, user_id, role, content, task_id) values (:conversation, 'ada', 'assistant', '', :completed)`,
  ],
  message_role_is_known: [`update holdfast.messages set role = 'system'`],
  message_has_a_user: [`update holdfast.messages set user_id = ''`],
  message_params_is_an_object: [`update holdfast.messages set params = '[]'`],
  credits_spent_is_not_negative: [`update holdfast.messages set credits_spent = -1`],

  task_has_a_user: [`insert into holdfast.tasks (user_id, type, provider) values ('', 'image', 'kie')`],
  task_status_is_known: [
    // The guards come first, so the rule itself is only seen with them out of the way.
    `set local session_replication_role = replica; ${task('status', `'retrying'`)}`,
  ],
  task_lane_is_known: [task('lane', `'vip'`)],
  task_priority_is_in_range: [task('priority', '0'), task('priority', '21')],
  progress_is_a_percentage: [task('progress', '-1'), task('progress', '101')],
  queue_position_is_not_negative: [task('queue_position', '-1')],
  params_is_an_object: [task('params', `'[]'`), task('params', `'"x"'`), task('params', `'null'`)],
  metadata_is_an_object: [task('metadata', `'[]'`)],
  finished_exactly_when_terminal: [
    pending('finished_at = now()'),
    running('finished_at = now()'),
    running(`status = 'completed'`),
    pending(`status = 'cancelled'`),
  ],
  started_when_running_or_completed: [pending(`status = 'running'`)],
  not_started_while_pending: [pending('started_at = now()')],
  failure_exactly_when_failed: [
    running(`status = 'failed', finished_at = now()`),
    running(`status = 'failed', finished_at = now(), failure_code = 'X', failure_message = 'x'`),
    running(`failure_code = 'X'`),
    running(
      `status = 'cancelled', finished_at = now(), failure_code = 'X', failure_message = 'x', failure_retryable = true`,
    ),
  ],
  message_only_when_completed: [running('message_id = holdfast.new_id()')],
  started_is_not_before_created: [pending(`status = 'running', started_at = created_at - interval '1 s'`)],
  finished_is_not_before_started: [
    running(`status = 'completed', finished_at = started_at - interval '1 s'`),
    pending(`status = 'cancelled', finished_at = created_at - interval '1 s'`),
  ],
  deadline_is_after_start: [running('deadline_at = started_at'), pending('deadline_at = created_at')],
  attempts_is_not_negative: [task('attempts', '-1'), task('max_attempts', '0')],
  credits_held_is_not_negative: [task('credits_held', '-1')],
  a_task_does_not_repeat_itself: [running('retry_of = id'), running('parent_id = id')],
  task_starts_pending: [task('status, started_at', `'running', now()`)],
  task_status_transition_is_allowed: [
    pending(`status = 'completed', started_at = now(), finished_at = now()`),
    completed(`status = 'running', finished_at = null`),
  ],
  task_identity_is_immutable: [
    running(`user_id = 'bob'`),
    running(`type = 'video'`),
    running(`params = '{"prompt": "another"}'`),
    running(`created_at = created_at - interval '1 day'`),
    running(`id = holdfast.new_id()`),
  ],
  task_outcome_is_final: [
    completed('progress = 5'),
    completed(`finished_at = finished_at + interval '1 s'`),
    completed(`started_at = started_at - interval '1 us'`),
    completed('attempts = attempts + 1'),
    completed(`failure_code = 'X'`),
  ],
  unsaved_only_when_ended: [running(`unsaved = '{app}'`), pending(`unsaved = '{app}'`)],
  task_message_is_written_once: [completed('message_id = null'), completed('message_id = holdfast.new_id()')],

  external_id_comes_with_its_time: [
    `update holdfast.provider_jobs set external_id = 'x' where task_id = :pending`,
    `update holdfast.provider_jobs set accepted_at = now() where task_id = :pending`,
  ],
  external_id_is_unique_per_provider: [
    `update holdfast.provider_jobs set accepted_at = now(), external_id = (select external_id from holdfast.provider_jobs where task_id = :running) where task_id = :pending`,
  ],
  external_id_is_written_once: [
    `update holdfast.provider_jobs set external_id = 'another' where task_id = :running`,
    `update holdfast.provider_jobs set external_id = null, accepted_at = null where task_id = :running`,
  ],

  work_kind_is_known: [
    `insert into holdfast.work (task_id, kind, provider) values (:pending, 'dance', 'kie')`,
  ],
  one_step_of_a_kind_per_task: [
    `insert into holdfast.work (task_id, kind, provider) values (:pending, 'send', 'kie')`,
    `insert into holdfast.work (task_id, kind, provider) values (:running, 'poll', 'kie')`,
  ],
  work_lane_is_known: [`update holdfast.work set lane = 'vip'`],
  work_counts_are_not_negative: [
    `update holdfast.work set epoch = -1`,
    `update holdfast.work set attempts = -1`,
    `update holdfast.work set polls = -1`,
  ],
  one_artifact_per_output: [
    `insert into holdfast.artifacts (user_id, ordinal, source_url, task_id) values ('ada', 0, 'https://x.example', :completed)`,
  ],
  artifact_has_a_user: [`update holdfast.artifacts set user_id = ''`],
  artifact_state_is_known: [artifact('state', `'lost'`)],
  stored_exactly_with_its_object: [
    artifact('state', `'stored'`),
    artifact('state, object_key, bytes', `'stored', 'k', 1`),
    artifact('object_key', `'k'`),
  ],
  bytes_is_not_negative: [artifact('bytes', '-1')],
  sha256_is_hex: [artifact('sha256', `'xyz'`), artifact('sha256', `repeat('A', 64)`)],
  ordinal_is_not_negative: [`update holdfast.artifacts set ordinal = -1`],

  account_has_a_user: [`insert into holdfast.credit_accounts (user_id) values ('')`],
  balance_is_not_negative: [
    `update holdfast.credit_accounts set balance = -1`,
    ledger('task_id, kind, amount', `:running, 'hold', 91`),
    ledger('kind, amount, reason', `'adjust', -91, 'too much'`),
  ],
  held_is_not_negative: [`update holdfast.credit_accounts set held = -1`],
  one_entry_per_task_and_kind: [ledger('task_id, kind, amount', `:completed, 'hold', 1`)],
  one_end_per_hold: [
    `${ledger('task_id, kind, amount', `:completed, 'capture', 10`)}; ${ledger('task_id, kind, amount', `:completed, 'refund', 10`)}`,
    `${ledger('task_id, kind, amount', `:completed, 'refund', 10`)}; ${ledger('task_id, kind, amount', `:completed, 'capture', 10`)}`,
  ],
  credits_of_a_task_are_not_negative: [running('credits_spent = -1'), running('credits_returned = -1')],
  usage_is_an_object: [running(`usage = '[1]'`), running(`usage = '3'`)],
  only_captures_end_a_hold_in_part: [
    ledger('kind, amount, hold_amount', `'grant', 1, 1`),
    ledger('kind, amount, shortfall', `'grant', 1, 1`),
  ],
  shortfall_is_not_negative: [
    ledger('task_id, kind, amount, hold_amount, shortfall', `:completed, 'capture', 10, 10, -1`),
  ],
  a_hold_ends_whole: [
    ledger('task_id, kind, amount, hold_amount', `:completed, 'capture', 10, 9`),
    ledger('task_id, kind, amount', `:completed, 'capture', 9`),
    ledger('task_id, kind, amount', `:completed, 'refund', 11`),
    ledger('task_id, kind, amount', `:running, 'refund', 10`),
    `insert into holdfast.credit_accounts (user_id, held) values ('eve', 10); insert into holdfast.credit_ledger (user_id, task_id, kind, amount) values ('eve', :completed, 'refund', 10)`,
  ],
  only_what_was_captured_is_given_back: [
    ledger('task_id, kind, amount, reason', `:completed, 'adjust', 10, 'not captured'`),
    `${ledger('task_id, kind, amount', `:completed, 'capture', 10`)}; ${ledger('task_id, kind, amount, reason', `:completed, 'adjust', 11, 'more'`)}`,
  ],
  ledger_key_has_a_sane_length: [
    ledger('kind, amount, key', `'grant', 1, ''`),
    ledger('kind, amount, key', `'grant', 1, repeat('x', 301)`),
  ],
  one_entry_per_key: [
    `${ledger('kind, amount, key', `'grant', 1, 'x'`)}; ${ledger('kind, amount, key', `'grant', 2, 'x'`)}`,
  ],
  ledger_kind_is_known: [ledger('kind, amount', `'gift', 1`)],
  task_entries_name_their_task: [
    ledger('kind, amount', `'refund', 1`),
    ledger('task_id, kind, amount', `:completed, 'grant', 1`),
  ],
  amount_is_not_negative_unless_adjusting: [ledger('kind, amount', `'grant', -1`)],
  adjustments_have_a_reason: [ledger('kind, amount', `'adjust', -1`)],
  ledger_is_append_only: [
    `update holdfast.credit_ledger set amount = 0`,
    `delete from holdfast.credit_ledger`,
    `truncate holdfast.credit_ledger`,
  ],

  lock_ttl_is_positive: [
    `insert into holdfast.lock_beats (name, pid, backend_start, holder, ttl_ms) values ('x', 1, now(), 'me', 0)`,
  ],

  idempotency_key_has_a_sane_length: [
    `update holdfast.idempotency_keys set key = ''`,
    `update holdfast.idempotency_keys set key = repeat('x', 201)`,
  ],
}

function fillIn(statement: string): string {
  return statement
    .replaceAll(':pending', `'${seeded.pendingTaskId}'`)
    .replaceAll(':running', `'${seeded.runningTaskId}'`)
    .replaceAll(':completed', `'${seeded.completedTaskId}'`)
    .replaceAll(':conversation', `'${seeded.conversationId}'`)
}

describe('every rule that the schema names', () => {
  it('is tried below', async () => {
    const rows = await sql<{ name: string }[]>`
      select conname as name from pg_constraint
      where connamespace = 'holdfast'::regnamespace and (contype in ('c', 'u', 'x') or conname = 'one_step_of_a_kind_per_task')
      union
      select c.relname from pg_index i join pg_class c on c.oid = i.indexrelid
      where c.relnamespace = 'holdfast'::regnamespace and i.indisunique and not i.indisprimary
      union
      select (regexp_matches(prosrc, 'constraint = ''(\\w+)''', 'g'))[1] from pg_proc
      where pronamespace = 'holdfast'::regnamespace
    `
    expect(Object.keys(VIOLATIONS).sort()).toEqual(rows.map(({ name }) => name).sort())
  })

  it.each(
    Object.entries(VIOLATIONS).flatMap(([name, statements]) =>
      statements.map((statement) => [name, statement] as const),
    ),
  )('%s: %s', (name, statement) =>
    rolledBack(sql, async (tx) => {
      await expect(tx.unsafe(fillIn(statement)).simple()).rejects.toMatchObject({ constraint_name: name })
    }),
  )
})

describe('an account is what its ledger adds up to (F13)', () => {
  const account = async (tx: Tx) =>
    (await tx`select balance::int, held::int from holdfast.credit_accounts where user_id = 'ada'`)[0]

  it('because every entry changes it, and nothing else', () =>
    rolledBack(sql, async (tx) => {
      expect(await account(tx)).toEqual({ balance: 90, held: 10 })
      await tx.unsafe(ledger('kind, amount', `'grant', 5`))
      expect(await account(tx)).toEqual({ balance: 95, held: 10 })
      await tx.unsafe(fillIn(ledger('task_id, kind, amount', `:running, 'hold', 20`)))
      expect(await account(tx)).toEqual({ balance: 75, held: 30 })
      await tx.unsafe(fillIn(ledger('task_id, kind, amount', `:running, 'refund', 20`)))
      expect(await account(tx)).toEqual({ balance: 95, held: 10 })
      await tx.unsafe(fillIn(ledger('task_id, kind, amount', `:completed, 'capture', 10`)))
      expect(await account(tx)).toEqual({ balance: 95, held: 0 })
      await tx.unsafe(fillIn(ledger('task_id, kind, amount, reason', `:completed, 'adjust', 10, 'sorry'`)))
      expect(await account(tx)).toEqual({ balance: 105, held: 0 })
      await tx.unsafe(ledger('kind, amount, reason', `'adjust', -100, 'a mistake'`))
      expect(await account(tx)).toEqual({ balance: 5, held: 0 })
      const [audit] = await tx`
        select sum(balance_change)::int as balance, sum(held_change)::int as held from holdfast.credit_audit where user_id = 'ada'
      `
      // The seeded account began with 100 that no entry tells of.
      expect(audit).toEqual({ balance: 5 - 100, held: 0 })
    }))

  it('and an entry that finds its like already there changes nothing', () =>
    rolledBack(sql, async (tx) => {
      await tx.unsafe(
        `${fillIn(ledger('task_id, kind, amount', `:completed, 'hold', 10`))} on conflict on constraint one_entry_per_task_and_kind do nothing`,
      )
      expect(await account(tx)).toEqual({ balance: 90, held: 10 })
    }))
})

describe('what outlives what', () => {
  it('a message and its files outlive their task’s row, and so does the ledger', () =>
    rolledBack(sql, async (tx) => {
      await tx`delete from holdfast.tasks where id = ${seeded.completedTaskId}`
      expect(await tx`select task_id from holdfast.messages where id = ${seeded.messageId}`).toMatchObject([
        { task_id: seeded.completedTaskId },
      ])
      expect(
        await tx`select task_id from holdfast.artifacts where message_id = ${seeded.messageId}`,
      ).toMatchObject([{ task_id: null }])
      expect(
        await tx`select from holdfast.credit_ledger where task_id = ${seeded.completedTaskId}`,
      ).toHaveLength(1)
    }))

  it('a task outlives its conversation', () =>
    rolledBack(sql, async (tx) => {
      await tx`delete from holdfast.conversations where id = ${seeded.conversationId}`
      expect(
        await tx`select conversation_id from holdfast.tasks where id = ${seeded.runningTaskId}`,
      ).toMatchObject([{ conversation_id: null }])
    }))

  it('what is to be done for a task goes with it', () =>
    rolledBack(sql, async (tx) => {
      await tx`delete from holdfast.tasks where id = ${seeded.pendingTaskId}`
      for (const table of ['work', 'provider_jobs'])
        expect(
          await tx`select from ${tx(`holdfast.${table}`)} where task_id = ${seeded.pendingTaskId}`,
        ).toHaveLength(0)
    }))

  it('a key that made a task stays used when the task is gone', () =>
    rolledBack(sql, async (tx) => {
      await tx`delete from holdfast.tasks where id = ${seeded.pendingTaskId}`
      expect(
        await tx`select from holdfast.idempotency_keys where task_id = ${seeded.pendingTaskId}`,
      ).not.toHaveLength(0)
    }))
})
