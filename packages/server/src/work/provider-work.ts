import type { Lane } from '@holdfast/shared'
import { type Operation, returnShares } from '../engine/budgets.ts'
import type { ClaimOptions } from '../engine/claim-within-budget.ts'
import { runWork } from '../engine/run-work.ts'
import { createSlots, type Slots } from '../engine/slots.ts'
import type { Room } from '../engine/work-kind.ts'
import type { Provider } from '../providers/provider.ts'
import { createCancelKind } from './cancel/cancel-kind.ts'
import { createPollKind } from './poll/poll-kind.ts'
import type { ProviderContext } from './provider-context.ts'
import { createSendKind } from './send/send-kind.ts'
import type { WakeUps } from './wake-ups.ts'

/** What the kinds of work of one provider share. */
export interface ProviderWork {
  context: ProviderContext
  provider: Provider
  /** Polls and cancels share a limit. */
  slots: Record<Operation, Slots>
  claimOptions(room: Room): ClaimOptions
}

export interface ProviderRunOptions {
  provider: Provider
  lanes: readonly Lane[]
  replica: string
  wakeUps: WakeUps
}

/**
 * Does one provider's work until told to stop, then waits for what is under way. Each kind has a loop of its own, so
 * that a flood of polls does not hold sends up.
 */
export async function runProvider(context: ProviderContext, options: ProviderRunOptions): Promise<void> {
  const { provider, lanes, replica, wakeUps } = options
  const work: ProviderWork = {
    context,
    provider,
    slots: { create: slotsOf(context, provider, 'create'), query: slotsOf(context, provider, 'query') },
    claimOptions: ({ count, underWay }) => ({
      provider: provider.name,
      lanes,
      limit: count,
      replica,
      inFlight: underWay,
      leaseMs: context.leaseMs,
    }),
  }
  const { log, stopping } = context
  const placeOf = (name: 'send' | 'poll' | 'cancel') => ({
    log,
    stopping,
    wakeUp: wakeUps.of(name, provider.name),
  })
  await Promise.all([
    runWork(createSendKind(work), placeOf('send')),
    runWork(createPollKind(work), placeOf('poll')),
    ...(provider.cancel ? [runWork(createCancelKind(work), placeOf('cancel'))] : []),
  ])
  await returnShares(context.sql, provider.name, replica).catch((error: unknown) => {
    log.debug({ err: error }, 'shares expire by themselves')
  })
}

function slotsOf({ breaker }: ProviderContext, { limits }: Provider, operation: Operation): Slots {
  const { inFlight, atOnce = inFlight } = limits[operation]
  // Half of the calls may end before the next claim: fewer, larger claims, and the connections never run dry.
  const fewest = Math.ceil(inFlight / 2)
  return createSlots({ breaker, atOnce, capacity: () => inFlight, fewest: () => fewest })
}
