import type { Logger } from 'pino'
import type { Alert } from '../../alerts/alert.ts'
import type { Tx } from '../../database/connect.ts'
import { endedBy } from '../../tasks/ended-by.ts'
import type { Settlement } from '../../tasks/settle-task.ts'
import type { CancelPolicy, TaskTypes } from '../../tasks/task-types.ts'
import type { Plugin, SettledTask } from '../plugin.ts'
import type { CreditsOptions } from './credits-options.ts'
import { type Charge, decideCharge, type End, type VendorSide } from './decide-charge.ts'
import { endHold, endHolds, isHoldOpen, lockAccounts } from './end-hold.ts'
import { giveBackLost } from './give-back.ts'
import { holdCredits } from './hold-credits.ts'
import { priceOf, realPriceOf } from './price-of.ts'

const DEFAULT_POLICY: CancelPolicy = 'refund-before-start'

/** Who is told of what an operator has to look at. */
export interface CreditsTold {
  log: Logger
  alert: Alert
}

/**
 * Holds the price of a task when it is submitted, and spends it or gives it back when it ends.
 *
 * Essential: a task does not end without its hold. Switched off (`false`) nothing is held any more, but holds from
 * before still end as they should, so that nobody's credits stay put aside for ever.
 */
export function createCreditsPlugin(
  types: TaskTypes,
  options: false | CreditsOptions,
  told?: CreditsTold,
): Plugin {
  /**
   * What it really cost, and how much of that may be taken beyond the hold.
   *
   * @param change what becomes of the balance by ends that are decided and not written yet
   */
  async function costOf(
    tx: Tx,
    task: SettledTask,
    change: number,
  ): Promise<{ cost: number | null; beyond: number }> {
    const type = types[task.type]
    const real = realPriceOf(type, task.params, task.status === 'completed' ? task.usage : null)
    if (real.kind === 'broken') tellBroken(task, real.reason)
    if (real.kind !== 'known') return { cost: null, beyond: 0 }
    if (real.amount <= task.creditsHeld || !type?.allowOverrun) return { cost: real.amount, beyond: 0 }
    const [account] = await tx<{ balance: number }[]>`
      select balance::float8 from holdfast.credit_accounts where user_id = ${task.userId} for no key update
    `
    return { cost: real.amount, beyond: Math.max(0, (account?.balance ?? 0) + change) }
  }

  async function decide(
    tx: Tx,
    task: SettledTask,
    { end, vendor, change = 0 }: { end: End; vendor: VendorSide; change?: number },
  ): Promise<Charge> {
    const { cost, beyond } = await costOf(tx, task, change)
    const policy = types[task.type]?.onCancel ?? DEFAULT_POLICY
    return decideCharge({ end, vendor, policy, held: task.creditsHeld, cost, beyond })
  }

  async function charge(tx: Tx, task: SettledTask, end: End, vendor: VendorSide): Promise<void> {
    const decided = await decide(tx, task, { end, vendor })
    if (decided.kind === 'wait') return
    await endHold(tx, task, decided)
    tellShortfall(task, decided)
  }

  function tellBroken({ id, type, userId, traceId }: SettledTask, reason: string): void {
    const message = `The price of "${type}" could not be computed from what the provider says it took (${reason}). Task ${id} cost what was held for it.`
    told?.log.error(
      { taskId: id, traceId, userId, type, reason },
      'a price could not be computed; the hold was charged',
    )
    told?.alert({
      name: 'price-broken',
      key: type,
      level: 'critical',
      message,
      details: { taskId: id, traceId, type },
    })
  }

  function tellShortfall({ id, type, userId, traceId }: SettledTask, decided: Charge): void {
    if (decided.kind !== 'capture' || decided.shortfall === 0) return
    const { amount, shortfall } = decided
    told?.log.warn(
      { taskId: id, traceId, userId, type, amount, shortfall },
      'a task cost more than could be taken',
    )
    told?.alert({
      name: 'credits-shortfall',
      key: type,
      level: 'critical',
      message: `A task of type "${type}" cost ${shortfall} credits more than could be taken. Put more aside when it is submitted, or set allowOverrun.`,
      details: { taskId: id, traceId, type, amount, shortfall },
    })
  }

  return {
    name: 'credits',
    essential: true,
    joinsSubmit: ({ type }) => options !== false && (types[type]?.credits ?? 0) !== 0,
    joinsSettle: ({ creditsHeld }) => creditsHeld > 0,
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
      await charge(tx, task, endOf(task, settlement), vendorSideOf(task, settlement))
    },
    async onSettledMany(tx, ends) {
      const charged: { task: SettledTask; charge: Exclude<Charge, { kind: 'wait' }> }[] = []
      const changes = new Map<string, number>()
      for (const { task, settlement } of ends) {
        const { userId, creditsHeld } = task
        const change = changes.get(userId) ?? 0
        const end = endOf(task, settlement)
        const decided = await decide(tx, task, { end, vendor: vendorSideOf(task, settlement), change })
        if (decided.kind === 'wait') continue
        charged.push({ task, charge: decided })
        changes.set(userId, change + creditsHeld - (decided.kind === 'capture' ? decided.amount : 0))
      }
      await endHolds(tx, charged)
      for (const { task, charge: decided } of charged) tellShortfall(task, decided)
    },
    lockMany: lockAccounts,
    async onCreateKnown(tx, task, fate) {
      if (task.creditsHeld === 0 || !(await isHoldOpen(tx, task.id))) return
      // Only a cancel of its user leaves a create under way.
      await charge(tx, task, 'cancelled by the user', fate === 'not-accepted' ? 'nothing' : fate)
    },
    onFileLost: (tx, task) => giveBackLost(tx, task.id),
  }
}

function endOf({ status, failure }: SettledTask, settlement: Settlement | undefined): End {
  if (status === 'completed') return 'completed'
  if (failure) return failure.code
  const by = settlement ? endedBy(settlement) : 'user'
  return by === 'provider' ? 'cancelled by the provider' : 'cancelled by the user'
}

function vendorSideOf({ sent }: SettledTask, settlement: Settlement | undefined): VendorSide {
  if (sent === 'accepted') return settlement && endedBy(settlement) === 'provider' ? 'finished' : 'accepted'
  return sent === 'perhaps' ? 'maybe' : 'nothing'
}
