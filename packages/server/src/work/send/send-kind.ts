import type { WorkKind } from '../../engine/work-kind.ts'
import type { ProviderWork } from '../provider-work.ts'
import { type ClaimedSend, claimSends } from './claim-sends.ts'
import { runSend } from './run-send.ts'
import { unmarkSending } from './unmark-sending.ts'

/** Sending tasks to one provider. */
export function createSendKind({
  context,
  provider,
  slots,
  claimOptions,
}: ProviderWork): WorkKind<ClaimedSend> {
  const { sql, types, leaseMs, metrics } = context
  /**
   * What is under way here, by its work, with the epoch of its claim. If its lease runs out meanwhile, a later claim finds
   * the mark of a create whose answer we are still waiting for: then it is not looked for, or it might be given up.
   */
  const sending = new Map<string, number>()
  const forget = ({ workId, epoch }: ClaimedSend) => {
    if (sending.get(workId) === epoch) sending.delete(workId)
  }

  return {
    name: 'send',
    of: provider.name,
    slots: slots.create,
    leaseMs,
    async claim(room) {
      const { works, retryMs } = await claimSends(sql, {
        ...claimOptions(room),
        types: Object.keys(types),
      })
      if (works.length > 0) metrics.claimed(provider.name, 'send', works)
      // One that this very claim has marked was put off by whoever sent it before.
      const others = works.filter(({ workId, isMarked }) => isMarked || !sending.has(workId))
      for (const { workId, epoch } of others) sending.set(workId, epoch)
      return { works: others, retryMs }
    },
    async run(work, { claimedAt }) {
      try {
        await runSend(context, provider, work, claimedAt)
      } finally {
        forget(work)
      }
    },
    async handBack(works) {
      const marked = works.filter(({ isMarked }) => isMarked)
      for (const { workId } of works) sending.delete(workId)
      const how = { delayMs: 0, countAttempt: false, reason: 'stopped' }
      // Each by itself: one that cannot be written must not leave the others marked, which would give them up as unknown.
      const written = await Promise.allSettled(
        marked.map((work) => unmarkSending(context, work.taskId, work, how)),
      )
      const failed = written.find((result) => result.status === 'rejected')
      if (failed) throw failed.reason
    },
  }
}
