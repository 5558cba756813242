import type { CancelPolicy, TaskTypes } from '../../tasks/task-types.ts'
import type { Plugin } from '../plugin.ts'
import type { CreditsOptions } from './credits-options.ts'
import { endHold } from './end-hold.ts'
import { holdCredits } from './hold-credits.ts'
import { holdOutcome } from './hold-outcome.ts'
import { priceOf } from './price-of.ts'

const DEFAULT_POLICY: CancelPolicy = 'refund-before-start'

/**
 * Holds the price of a task when it is submitted, and spends it or gives it back when it ends.
 *
 * Essential: a task does not end without its hold. Switched off (`false`) nothing is held any more, but holds from
 * before still end as they should, so that nobody's credits stay put aside for ever.
 */
export function createCreditsPlugin(types: TaskTypes, options: false | CreditsOptions): Plugin {
  return {
    name: 'credits',
    essential: true,
    ...(options === false
      ? {}
      : {
          async onSubmit(tx, task) {
            const price = priceOf(task.type, types[task.type], task.params)
            await holdCredits(tx, task, { price, initial: options.initial ?? 0 })
          },
        }),
    async onSettled(tx, task, settlement) {
      if (task.creditsHeld === 0) return
      const by = settlement?.status === 'cancelled' ? (settlement.by ?? 'user') : 'user'
      const policy = types[task.type]?.onCancel ?? DEFAULT_POLICY
      await endHold(tx, task, holdOutcome(task, { policy, by }))
    },
  }
}
