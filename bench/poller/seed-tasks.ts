import type postgres from 'postgres'
import { laneOfUser } from './replica-settings.ts'

export interface Seed {
  /** Decides the lane, too. */
  userId: string
  count: number
  /** External ids and prompts begin with this. */
  name: string
  /** `running`: accepted, to be polled. `pending`: to be sent. */
  as: 'running' | 'pending'
  /** When the first is due, from now. @default 0 */
  dueInMs?: number
  /** How much later each next one is due. @default 0: all at once */
  everyMs?: number
}

const CONVERSATIONS = 20

/** Writes tasks as the API and the sends would have, in one statement each, and returns when the first is due. */
export async function seedTasks(sql: postgres.Sql, seed: Seed): Promise<number> {
  const { userId, count, name, as, dueInMs = 0, everyMs = 0 } = seed
  const lane = laneOfUser(userId)
  return sql.begin(async (tx) => {
    // Several, so that settles do not stand in line for one row.
    const conversations = await tx<{ id: string }[]>`
      insert into holdfast.conversations (user_id, title) select ${userId}, ${name} from generate_series(1, ${CONVERSATIONS})
      returning id
    `
    await tx`
      insert into holdfast.tasks (user_id, type, provider, params, lane, conversation_id)
      select ${userId}, 'image', 'kie', jsonb_build_object('prompt', ${name}::text || '-' || n), ${lane},
        (${conversations.map(({ id }) => id)}::uuid[])[1 + n % ${CONVERSATIONS}]
      from generate_series(1, ${count}) as n
    `
    const own = () => tx`
      select id, params->>'prompt' as prompt, split_part(params->>'prompt', '-', 2)::int as n from holdfast.tasks
      where user_id = ${userId} and params->>'prompt' like ${`${name}-%`}
    `
    await tx`
      insert into holdfast.provider_jobs (task_id, provider, sending_at, external_id, accepted_at)
      select t.id, 'kie', ${as === 'running' ? tx`now(), t.prompt, now()` : tx`null, null, null`} from (${own()}) t
    `
    if (as === 'running') {
      await tx`
        update holdfast.tasks w set status = 'running', started_at = now(), deadline_at = now() + interval '1 h'
        from (${own()}) t where w.id = t.id
      `
    }
    const [first] = await tx<[{ at: number }]>`
      select (extract(epoch from clock_timestamp()) * 1000)::float8 + ${dueInMs}::float8 as at
    `
    await tx`
      insert into holdfast.work (task_id, kind, provider, lane, due_at)
      select t.id, ${as === 'running' ? 'poll' : 'send'}, 'kie', ${lane},
        to_timestamp((${first.at}::float8 + (t.n - 1) * ${everyMs}::float8) / 1000)
      from (${own()}) t
    `
    return first.at
  })
}
