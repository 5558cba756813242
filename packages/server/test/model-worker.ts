import type { Sql } from '../src/database/connect.ts'
import { giveUp } from '../src/dead-letters/give-up.ts'
import { ALL_LANES } from '../src/engine/lanes.ts'
import type { WorkName } from '../src/engine/work-kind.ts'
import { createAftermath } from '../src/tasks/aftermath.ts'
import type { Settlement, SettleResult } from '../src/tasks/settle-task.ts'
import { reschedulePolls } from '../src/work/poll/reschedule-polls.ts'
import { acceptTask } from '../src/work/send/accept-task.ts'
import { acceptTogether } from '../src/work/send/accept-together.ts'
import { concludeCreate } from '../src/work/send/conclude-create.ts'
import { unmarkSending } from '../src/work/send/unmark-sending.ts'
import { claimCancels, claimPolls, claimSends } from './claim-works.ts'
import { untold } from './record-notices.ts'
import { setProgress } from './set-progress.ts'
import { createTestSettle } from './settle-task.ts'

type ModelKind = Extract<WorkName, 'send' | 'poll' | 'cancel'>

/**
 * A step that a worker has claimed and not finished. `sending`: the claim has marked it, the create has left, and its
 * answer is awaited.
 */
export interface HeldClaim {
  kind: ModelKind
  phase: 'claimed' | 'sending'
  workId: string
  epoch: number
  taskId: string
}

/** What a step did, as far as the rules speak about it. */
export type Deed =
  | { kind: 'claimed'; claims: HeldClaim[] }
  | { kind: 'unmarked'; taskId: string }
  | { kind: 'accepted'; taskId: string; result: 'running' | 'ended-meanwhile' }
  | { kind: 'settle'; taskId: string; result: SettleResult['kind'] }
  | { kind: 'swept' }
  | { kind: 'nothing' }

export interface Acted {
  deed: Deed
  /** Set where the write was guarded by a claim: which, and whether it went through. */
  fenced?: { workId: string; epoch: number; wrote: boolean }
}

/** What the provider says, or what we decide; the same numbers for each kind of step. */
export const OUTCOMES = 8

const failed: Settlement = {
  status: 'failed',
  failure: { code: 'PROVIDER_FAILED', message: 'It did not work.', retryable: true },
}
const completed: Settlement = {
  status: 'completed',
  outputs: [{ url: 'https://p.example/0.png', contentType: 'image/png', urlLifetimeMs: null }],
}

/** A process of the model: it holds claims, and takes one step at a time when it is told to. */
export interface ModelWorker {
  readonly name: string
  readonly sql: Sql
  readonly held: HeldClaim[]
  /** Takes whatever is due. A claim with a lease of nothing can be taken over at once. */
  claim(leaseMs: number): Promise<Acted>
  /** Goes on with one of its claims. */
  act(pick: number, outcome: number): Promise<Acted>
  /** Everything it held is forgotten, nothing is written. */
  die(): void
}

export function createModelWorker(name: string, sql: Sql, provider: () => string): ModelWorker {
  const held: HeldClaim[] = []
  const settle = createTestSettle(sql, undefined, { canCancel: () => true })
  const aftermath = createAftermath([])
  /** As whoever has the reply to a create does, or has given up waiting for it. */
  const conclude = async (taskId: string, fence?: { workId: string; epoch: number }) =>
    (await concludeCreate(untold(sql), aftermath, {
      taskId,
      fate: fence ? 'lost' : 'not-accepted',
      fence,
    })) !== null
  type Claim =
    | typeof claimPolls
    | typeof claimCancels
    | ((...args: Parameters<typeof claimPolls>) => ReturnType<typeof claimSends>)
  const claims: Record<ModelKind, Claim> = {
    send: (own, options) => claimSends(own, { ...options, types: ['image'] }),
    poll: claimPolls,
    cancel: claimCancels,
  }

  async function submit(claim: HeldClaim, outcome: number): Promise<Acted> {
    const { taskId, workId, epoch } = claim
    const fence = { workId, epoch }
    // Somebody may have sent it already.
    if (claim.phase === 'claimed') return decided(claim)
    switch (outcome) {
      case 0:
      case 1:
      case 6:
      case 7: {
        const accepted = {
          taskId,
          externalId: `external-${taskId}`,
          provider: provider(),
          deadlineMs: 600_000,
          expectedMs: 1_000,
          firstPollMs: 0,
          canCancel: true,
        }
        const [together] = outcome === 6 ? [] : await acceptTogether(sql, [accepted])
        const result = together ? { kind: 'running' as const } : await acceptTask(untold(sql), accepted)
        // The connection may break before it hears so: then it is written again, later.
        if (outcome === 1) held.push(claim)
        return { deed: { kind: 'accepted', taskId, result: result.kind } }
      }
      case 2:
      case 3: {
        const wrote = await unmarkSending(untold(sql), taskId, fence, {
          delayMs: 0,
          countAttempt: true,
          reason: 'away',
        })
        // Cancelled meanwhile: the reply is what the task has waited for.
        if (!wrote && (await conclude(taskId))) return { deed: { kind: 'nothing' } }
        return {
          deed: wrote ? { kind: 'unmarked', taskId } : { kind: 'nothing' },
          fenced: { ...fence, wrote },
        }
      }
      case 4: {
        const letter = { taskId, userId: 'ada', provider: provider(), lane: 'free_default', attempts: 2 }
        const result = await giveUp(settle, failed, { ...letter, kind: 'send', reason: 'refused' })
        if (result.kind === 'already-ended') await conclude(taskId)
        return { deed: { kind: 'settle', taskId, result: result.kind } }
      }
      default: {
        const result = await settle(taskId, failed)
        if (result.kind === 'already-ended') await conclude(taskId)
        return { deed: { kind: 'settle', taskId, result: result.kind } }
      }
    }
  }

  async function poll(claim: HeldClaim, outcome: number): Promise<Acted> {
    const { taskId, workId, epoch } = claim
    switch (outcome) {
      case 0:
      case 1: {
        const result = await settle(taskId, outcome === 0 ? completed : failed)
        return { deed: { kind: 'settle', taskId, result: result.kind } }
      }
      case 2:
      case 3:
        return decided(claim)
      case 4:
        await setProgress(sql, taskId, 50)
        return { deed: { kind: 'nothing' } }
      default: {
        const refused = await reschedulePolls(sql, [
          { taskId, workId, epoch, delayMs: 0, heard: outcome === 5 },
        ])
        return { deed: { kind: 'nothing' }, fenced: { workId, epoch, wrote: refused === 0 } }
      }
    }
  }

  async function cancel({ taskId, workId, epoch }: HeldClaim): Promise<Acted> {
    const gone = await sql`
      delete from holdfast.work where task_id = ${taskId} and kind = 'cancel' and id = ${workId} and epoch = ${epoch}
    `
    return { deed: { kind: 'nothing' }, fenced: { workId, epoch, wrote: gone.count === 1 } }
  }

  /** What is ours to decide only while we hold the claim. */
  async function decided({ taskId, workId, epoch }: HeldClaim): Promise<Acted> {
    const fence = { workId, epoch }
    const { kind: result } = await settle(taskId, failed, { fence })
    const concluded = result === 'already-ended' && (await conclude(taskId, fence))
    return {
      deed: { kind: 'settle', taskId, result },
      fenced: { ...fence, wrote: result === 'settled' || concluded },
    }
  }

  return {
    name,
    sql,
    held,
    async claim(leaseMs) {
      const options = {
        provider: provider(),
        lanes: ALL_LANES,
        limit: 10,
        replica: name,
        inFlight: 0,
        leaseMs,
      }
      const news: HeldClaim[] = []
      for (const kind of ['send', 'poll', 'cancel'] as const) {
        for (const work of await claims[kind](sql, options)) {
          const { workId, epoch, taskId } = work
          const phase = 'isMarked' in work && work.isMarked ? 'sending' : 'claimed'
          news.push({ kind, phase, workId, epoch, taskId })
        }
      }
      held.push(...news)
      return { deed: { kind: 'claimed', claims: news } }
    },
    async act(pick, outcome) {
      const [claim] = held.splice(pick % Math.max(1, held.length), 1)
      if (!claim) return { deed: { kind: 'nothing' } }
      if (claim.kind === 'send') return submit(claim, outcome)
      return claim.kind === 'poll' ? poll(claim, outcome) : cancel(claim)
    },
    die() {
      held.length = 0
    },
  }
}
