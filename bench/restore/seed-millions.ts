import type postgres from 'postgres'

/** Users that are asked for, and what they have. */
export const SUBJECTS = [
  { userId: 'fifty', active: 50, ended: 1_000, endedToday: 100 },
  { userId: 'thousand', active: 1_000, ended: 10_000, endedToday: 100 },
  // Years of use, and nothing of it today: what ended lately must not be looked for among all of it.
  { userId: 'hoarder', active: 50, ended: 200_000, endedToday: 0 },
] as const

const USERS = 100_000
const PART = 1_000_000
const PARAMS =
  '{"prompt": "A lighthouse on a basalt cliff at dusk, long exposure, sea mist, warm light in the lantern room", "aspect_ratio": "16:9"}'

interface Rows {
  /** SQL for whose it is, by `n`. */
  user: string
  from: number
  count: number
  /** SQL for its status, by `n`. */
  status: string
  /** SQL for its age in seconds, by `n`. */
  age: string
}

/**
 * As many tasks as asked for: of 100,000 users, made over 30 days, one in a hundred unfinished; and among them the
 * users that are asked for. Triggers and all indexes but the key are off while they are written.
 */
export async function seedMillions(
  sql: postgres.Sql,
  tasks: number,
  log: (line: string) => void,
): Promise<void> {
  const indexes = await sql<{ name: string; definition: string }[]>`
    select i.indexrelid::regclass::text as name, pg_get_indexdef(i.indexrelid) as definition
    from pg_index i where i.indrelid = 'holdfast.tasks'::regclass and not i.indisprimary
  `
  for (const { name } of indexes) await sql.unsafe(`drop index ${name}`)
  let written = 0
  const write = async (rows: Rows) => {
    await sql.begin(async (tx) => {
      await tx`set local session_replication_role = replica`
      await tx.unsafe(insertOf(rows))
    })
    written += rows.count
    log(`${written} tasks written`)
  }

  const own = SUBJECTS.reduce((sum, { active, ended }) => sum + active + ended, 0)
  const half = Math.floor((tasks - own) / 2)
  const anybody = { user: `'user-' || n % ${USERS}`, age: `30 * 86400 * (1 - n / ${tasks}.0)` }
  const status = `case when n % 100 = 0 then 'running' when n % 12 = 0 then 'failed' else 'completed' end`
  const others = async (from: number, until: number) => {
    for (let start = from; start < until; start += PART)
      await write({ ...anybody, status, from: start, count: Math.min(PART, until - start) })
  }
  await others(0, half)
  // In the middle of the others', as everybody's are.
  let from = tasks + 1
  for (const { userId, active, ended, endedToday } of SUBJECTS) {
    const rows = { user: `'${userId}'` }
    const old = ended - endedToday
    await write({ ...rows, from, count: old, status: `'completed'`, age: `86400 * (2 + n % 28)` })
    from += old
    if (endedToday > 0)
      await write({ ...rows, from, count: endedToday, status: `'completed'`, age: '3600 + n % 3600' })
    from += endedToday
    await write({ ...rows, from, count: active, status: `'running'`, age: '60 + n % 600' })
    from += active
  }
  await others(half, tasks - own)
  await sql`
    insert into holdfast.artifacts (task_id, user_id, ordinal, source_url)
    select id, user_id, 0, 'https://files.example/' || id from holdfast.tasks
    where user_id in ${sql(SUBJECTS.map(({ userId }) => userId))} and status = 'completed'
  `
  for (const { name, definition } of indexes) {
    log(`making ${name}`)
    await sql.unsafe(definition)
  }
  log('analyzing')
  await sql`vacuum (analyze) holdfast.tasks, holdfast.artifacts`
}

function insertOf({ user, from, count, status, age }: Rows): string {
  return `
    insert into holdfast.tasks (
      user_id, type, provider, status, progress, params, estimated_at, deadline_at, version, created_at, started_at, finished_at, updated_at,
      failure_code, failure_message, failure_retryable
    )
    select
      ${user}, 'image', 'kie', s.status, case s.status when 'completed' then 100 else n % 90 end, '${PARAMS}',
      a.at + interval '30 s', a.at + interval '10 min', 3, a.at, a.at + interval '1 s',
      case when s.status <> 'running' then a.at + interval '40 s' end, a.at + interval '40 s',
      case when s.status = 'failed' then 'PROVIDER_FAILED' end, case when s.status = 'failed' then 'It failed.' end,
      case when s.status = 'failed' then true end
    from generate_series(${from}::bigint, ${from + count - 1}::bigint) n
      cross join lateral (select now() - (${age}) * interval '1 s' as at) a
      cross join lateral (select ${status} as status) s
  `
}
