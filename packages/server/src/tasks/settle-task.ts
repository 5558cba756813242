import type { TaskFailure } from '@holdfast/shared'
import { writeArtifacts } from '../artifacts/write-artifacts.ts'
import type { Tx } from '../database/connect.ts'
import type { Fence } from '../engine/claim.ts'
import type { ProviderOutput, Usage } from '../providers/provider.ts'
import { endedBy } from './ended-by.ts'

export type Settlement =
  | {
      status: 'completed'
      outputs: ProviderOutput[]
      /** Whether there is a store to copy them to. @default false */
      mirror?: boolean
      /** What the provider says it took. */
      usage?: Usage | undefined
    }
  | { status: 'failed'; failure: TaskFailure }
  /** `by`: the user wished it, or the provider let it go without anybody's wish. @default 'user' */
  | { status: 'cancelled'; by?: 'user' | 'provider' }

export type SettleResult =
  | { kind: 'settled'; userId: string }
  /** Somebody else ended the task first; nothing was changed (F10). */
  | { kind: 'already-ended' }
  /** The claim was lost; nothing was changed. */
  | { kind: 'fenced' }

export interface EndedTask {
  id: string
  userId: string
}

/** `stopsAt`: the provider that is now to be told to stop, if any is. */
export type EndResult =
  | (Extract<SettleResult, { kind: 'settled' }> & { stopsAt: string | null })
  | Exclude<SettleResult, { kind: 'settled' }>

export interface SettleTaskOptions {
  fence?: Fence | undefined
  progress?: number | null | undefined
  /** Whether a provider can stop what it has accepted. @default none can */
  canCancel?: ((provider: string) => boolean) | undefined
}

/**
 * Ends a task as a part of a transaction: its status and its result (F11). What else belongs to its end comes after.
 *
 * A provider's final answer is a fact and needs no fence: the task's own status decides who was first. What *we*
 * decide (a deadline, giving up) is only ours to decide while we hold the claim, so it comes with a fence. The
 * fence is a row lock, taken before anything is written.
 *
 * Whatever the provider may still work on, because its user or we ended it, is stopped there by work of its own. A create
 * that is under way when its user cancels is seen through: its work stays until the reply is known.
 */
export async function settleInTransaction(
  tx: Tx,
  taskId: string,
  settlement: Settlement,
  { fence, progress = null, canCancel = () => false }: SettleTaskOptions = {},
): Promise<EndResult> {
  const work = await lockWork(tx, taskId)
  if (fence && !work.some((row) => row.id === fence.workId && row.epoch === fence.epoch))
    return { kind: 'fenced' }

  const [task] = await tx<(EndedTask & { provider: string; active: boolean })[]>`
    select id, user_id as "userId", provider, status in ('pending', 'running') as active
    from holdfast.tasks where id = ${taskId} for update
  `
  if (!task?.active) return { kind: 'already-ended' }

  const polls = work.reduce((sum, row) => sum + row.polls, 0)
  const by = endedBy(settlement)
  const [written] = await tx<[{ stops: boolean }]>`
    with job as (
      select external_id is not null as accepted, sending_at is not null as sent
      from holdfast.provider_jobs where task_id = ${taskId}
    ),
    stopped as (
      insert into holdfast.work (task_id, kind, provider)
      select ${taskId}, 'cancel', ${task.provider} from job
      where accepted and ${by !== 'provider' && canCancel(task.provider)}
      on conflict do nothing
      returning 1
    ),
    over as (
      delete from holdfast.work where task_id = ${taskId} and kind in ('send', 'poll')
        and not (kind = 'send' and ${by === 'user'} and exists (select from job where sent and not accepted))
    )
    select exists (select from stopped) as stops
  `
  const failure = settlement.status === 'failed' ? settlement.failure : null
  await tx`
    update holdfast.tasks set
      status = ${settlement.status},
      -- A create that was under way was a start, whatever became of it.
      attempts = least(attempts + case when status = 'pending' and exists (
        select from holdfast.provider_jobs j where j.task_id = ${taskId} and j.sending_at is not null
      ) then 1 else 0 end, 32767),
      next_attempt_at = null,
      progress = ${
        settlement.status === 'completed' ? tx`100` : tx`greatest(progress, ${progress}::smallint)`
      },
      usage = ${settlement.status === 'completed' && settlement.usage ? tx.json(settlement.usage) : null},
      failure_code = ${failure?.code ?? null},
      failure_message = ${failure?.message ?? null},
      failure_retryable = ${failure?.retryable ?? null},
      dead_lettered = ${failure?.deadLettered ?? false},
      expires_at = ${settlement.status === 'completed' ? tx`now() + keep_ms * interval '1 ms'` : null},
      poll_count = poll_count + ${polls},
      last_polled_at = ${polls > 0 ? tx`now()` : tx`last_polled_at`},
      -- This transaction may have begun before the one that started the task, and waited for it.
      finished_at = greatest(now(), created_at, started_at)
    where id = ${taskId}
  `
  if (settlement.status === 'completed') await writeArtifacts(tx, task, settlement)
  return { kind: 'settled', userId: task.userId, stopsAt: written.stops ? task.provider : null }
}

interface LockedWork {
  id: string
  epoch: number
  polls: number
}

/**
 * The steps that would go on with the task. Whoever accepts it takes its submit away and puts a poll in its place, which
 * a look that had to wait for that cannot see; without a second one we would come for the poll later, with the task
 * already locked, against the order.
 */
async function lockWork(tx: Tx, taskId: string): Promise<LockedWork[]> {
  const look = () => tx<LockedWork[]>`
    select id::text, epoch, polls from holdfast.work
    where task_id = ${taskId} and kind in ('send', 'poll') order by id for update
  `
  const found = await look()
  return found.length > 0 ? found : look()
}
