import type { WriteContext } from '../../bus/create-notify.ts'
import { gather } from '../../concurrency/gather.ts'
import { isDatabaseAway } from '../../database/database-errors.ts'
import type { Aftermath } from '../../tasks/aftermath.ts'
import { type Acceptance, type AcceptResult, acceptTask } from './accept-task.ts'
import { acceptTogether } from './accept-together.ts'

/** Writes down what a provider has accepted, together with others, and tells it. */
export type Accept = (accepted: Acceptance) => Promise<AcceptResult>

/** One `Accept` for an engine. */
export function createAccept(context: WriteContext & { aftermath: Aftermath }): Accept {
  const { sql, notify, aftermath } = context
  return gather<Acceptance, AcceptResult>({
    async together(accepted) {
      const started = await acceptTogether(sql, accepted)
      for (const userId of new Set(started.flatMap((one) => one?.userId ?? []))) notify.changed(userId)
      for (const [index, { provider, firstPollMs }] of accepted.entries()) {
        if (started[index]) notify.dueHere('poll', provider, firstPollMs)
      }
      return started.map((one) => one && { kind: 'running', ...one })
    },
    alone: (accepted) => acceptTask(context, accepted, aftermath),
    isHopeless: isDatabaseAway,
  })
}
