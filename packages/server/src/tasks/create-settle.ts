import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { Alert } from '../alerts/alert.ts'
import type { WriteContext } from '../bus/create-notify.ts'
import { gather } from '../concurrency/gather.ts'
import type { Tx } from '../database/connect.ts'
import { errorCode, isDatabaseAway } from '../database/database-errors.ts'
import { retryDeadlock } from '../database/retry-deadlock.ts'
import { type Transaction, transaction } from '../database/transaction.ts'
import type { Fence } from '../engine/claim.ts'
import { STORE } from '../engine/work-queue.ts'
import type { HotStore } from '../hot/hot-store.ts'
import { joinApart, joinTogether, type Unsaved } from '../plugins/join-finish.ts'
import type { Plugin, SettledTask } from '../plugins/plugin.ts'
import { readSettledTask, readSettledTasks } from '../plugins/read-settled-task.ts'
import {
  type HookPlace,
  HookTimedOut,
  limitStatements,
  PLUGIN_LIMIT_MS,
  runHook,
} from '../plugins/run-hook.ts'
import { type Settlement, type SettleResult, settleInTransaction } from './settle-task.ts'
import { isProviderEnd, type ProviderEnd, settleTogether } from './settle-together.ts'

export interface SettleOptions {
  fence?: Fence | undefined
  /** What decides whether a plugin joins, where that is known: if none does, the task ends together with others. */
  about?: Pick<SettledTask, 'creditsHeld' | 'conversationId'> | undefined
  /** How far it was shown to be, where the row may know less: what has ended unfinished stays that far. */
  progress?: number | null | undefined
  /** Asked in the same transaction, before anything is written. False: nothing is, and the result is `fenced`. */
  onlyIf?(tx: Tx): Promise<boolean>
  /** Done in the same transaction, if the task was ended by it. */
  also?(tx: Tx): Promise<void>
}

/** Ends a task, together with all that joins its end. */
export type Settle = (
  taskId: string,
  settlement: Settlement,
  options?: SettleOptions,
) => Promise<SettleResult>

export interface SettleParts extends WriteContext {
  plugins: readonly Plugin[]
  log: Logger
  alert: Alert
  /** Whether a provider can stop what it has accepted. @default none can */
  canCancel?: ((provider: string) => boolean) | undefined
  /** What it kept of a task is of no use after the end. */
  hot?: HotStore | undefined
  /** How long a plugin may take. @default 5000 */
  pluginLimitMs?: number
  /** Between tries, when a plugin threw. @default [250, 1500] */
  pausesMs?: readonly number[]
}

const PAUSES_MS = [250, 1_500]
/** Rows stay locked while plugins do their part for all of them. */
const MOST_JOINED = 100
const STATEMENT_TOOK_TOO_LONG = '57014'

/** Somebody else holds what plugins would write for these tasks. */
class HeldByOthers extends Error {
  readonly taskIds: ReadonlySet<string>

  constructor(taskIds: ReadonlySet<string>) {
    super('Somebody else holds what plugins would write.')
    this.taskIds = taskIds
  }
}

/**
 * How the plugins that are not essential take part in a try.
 *
 *     together ──threw──► together ──threw──► apart ──still broken──► without
 *         └────────── took too long ───────────┘
 *
 * - `together`: one that throws takes the whole transaction with it. Costs nothing when none does.
 * - `apart`: each in a savepoint. What throws, or took too long before, is left out and kept as unsaved.
 * - `without`: all are left out.
 */
type Mode = 'together' | 'apart' | 'without'

/** What is known of a try, also when it broke off. */
interface Try {
  /** Whose hook was running, or could have spoilt the commit. */
  blamed: Plugin | null
  /** Of the request that created the task. Read before any plugin is asked. */
  traceId: string | null
}

/**
 * One `Settle` for a server: everything that ends tasks is given it, and knows nothing of what joins.
 *
 * If an essential plugin throws, nothing is written, and whoever wanted to settle tries again later, as when the
 * database is away. A plugin that is not essential never holds a task up for longer than a few tries.
 */
export function createSettle(parts: SettleParts): Settle {
  const { sql, notify, log, alert, pluginLimitMs: limitMs = PLUGIN_LIMIT_MS, pausesMs = PAUSES_MS } = parts
  const joining = parts.plugins.filter((plugin) => plugin.onSettled)
  const essential = joining.filter((plugin) => plugin.essential)
  const others = joining.filter((plugin) => !plugin.essential)

  /** Tells whose tasks have ended, and which work that has made. */
  function tellEnded(ended: readonly { userId: string; settlement: Settlement }[]): void {
    for (const userId of new Set(ended.map(({ userId }) => userId))) notify.changed(userId)
    if (ended.some(({ settlement }) => hasFilesToCopy(settlement))) notify.dueHere('copy', STORE)
  }

  function attempt(
    asked: SettleOptions & { taskId: string; settlement: Settlement },
    { mode, tooSlow }: { mode: Mode; tooSlow: ReadonlySet<Plugin> },
    known: Try,
  ): Promise<SettleResult & { unsaved?: Unsaved[] }> {
    const { taskId, settlement } = asked
    const blame = (plugin: Plugin | null) => {
      known.blamed = plugin
    }
    return transaction(sql, async (tx, over) => {
      blame(null)
      if (asked.onlyIf && !(await asked.onlyIf(tx))) return { kind: 'fenced' }
      const ended = await settleInTransaction(tx, taskId, settlement, {
        ...asked,
        canCancel: parts.canCancel,
      })
      if (ended.kind !== 'settled') return ended
      const { stopsAt, ...result } = ended
      tx.afterCommit(() => {
        tellEnded([{ userId: result.userId, settlement }])
        if (stopsAt !== null) notify.due('cancel', stopsAt)
      })
      await asked.also?.(tx)
      if (joining.length === 0) return result

      const place = { tx, over, limitMs }
      const [, before] = await Promise.all([limitStatements(place), readSettledTask(tx, taskId)])
      known.traceId = before.traceId
      await joinTogether(place, { task: before, settlement }, essential, blame)
      blame(null)
      // What was held is spent or given back by now, which decides what the task has cost.
      const task = before.creditsHeld > 0 ? await readSettledTask(tx, taskId) : before

      if (mode === 'together') {
        await joinTogether(place, { task, settlement }, others, blame)
        return result
      }
      const asking = mode === 'apart' ? others.filter((plugin) => !tooSlow.has(plugin)) : []
      blame(asking[0] ?? null)
      const unsaved = [
        ...others
          .filter((plugin) => !asking.includes(plugin))
          .map(({ name }) => ({ plugin: name, error: new Error('left out: it broke an earlier try') })),
        ...(await joinApart(place, { task, settlement }, asking)),
      ]
      if (unsaved.length > 0) {
        await tx`update holdfast.tasks set unsaved = ${unsaved.map(({ plugin }) => plugin)}::text[] where id = ${taskId}`
      }
      return { ...result, unsaved }
    })
  }

  const settleAlone: Settle = async (taskId, settlement, options = {}) => {
    const tooSlow = new Set<Plugin>()
    let mode: Mode = 'together'
    for (let tries = 1; ; tries++) {
      const known: Try = { blamed: null, traceId: null }
      try {
        const { unsaved, ...result } = await attempt(
          { ...options, taskId, settlement },
          { mode, tooSlow },
          known,
        )
        for (const { plugin, error } of unsaved ?? []) {
          reportUnsaved(log, alert, { taskId, traceId: known.traceId, plugin, error })
        }
        return result
      } catch (error) {
        const { blamed, traceId } = known
        // With no plugin to blame it is the database, or a fault of ours: whoever asked tries again later.
        if (blamed === null) throw error
        if (blamed.essential) {
          if (!isDatabaseAway(error)) reportHeld(log, alert, { taskId, traceId, plugin: blamed.name, error })
          throw error
        }
        log.warn(
          { err: error, taskId, traceId, plugin: blamed.name, tries },
          'a plugin threw while a task ended',
        )
        const isTooSlow = error instanceof HookTimedOut || errorCode(error) === STATEMENT_TOOK_TOO_LONG
        // Each try would hold a connection and locks for as long again.
        if (isTooSlow) tooSlow.add(blamed)
        const isLast = isTooSlow || tries >= pausesMs.length
        if (mode === 'together') {
          if (!isTooSlow) await sleep(pausesMs[tries - 1])
          if (isLast) mode = 'apart'
        } else {
          mode = 'without'
        }
      }
    }
  }

  const settlePlain = gather<ProviderEnd, SettleResult>({
    async together(ends) {
      const ended = await retryDeadlock(() => settleTogether(sql, ends))
      tellEnded(withSettlements(ended, ends))
      return ended.map((end) => end && { kind: 'settled', ...end })
    },
    alone: ({ taskId, settlement, progress }) => settleAlone(taskId, settlement, { progress }),
    isHopeless: isDatabaseAway,
  })

  const settleJoined = gather<ProviderEnd, SettleResult>({
    together: settleFreeTogether,
    alone: ({ taskId, settlement, progress }) => settleAlone(taskId, settlement, { progress }),
    isHopeless: isDatabaseAway,
    maxItems: MOST_JOINED,
  })

  /** Null for those that somebody holds an account or the like of: they would have all of them wait. */
  async function settleFreeTogether(ends: readonly ProviderEnd[]): Promise<(SettleResult | null)[]> {
    try {
      return await transaction(sql, (tx, over) => settleWithPlugins(tx, over, ends))
    } catch (error) {
      if (!(error instanceof HeldByOthers)) throw error
      const free = ends.filter(({ taskId }) => !error.taskIds.has(taskId))
      const results = free.length === 0 ? [] : await settleFreeTogether(free)
      const byEnd = new Map(free.map((end, index) => [end, results[index] ?? null]))
      return ends.map((end) => byEnd.get(end) ?? null)
    }
  }

  /** Many ends in one transaction, with plugins that take many at once. */
  async function settleWithPlugins(
    tx: Transaction,
    over: AbortSignal,
    ends: readonly ProviderEnd[],
  ): Promise<(SettleResult | null)[]> {
    const place = { tx, over, limitMs }
    const taskIds = ends.map(({ taskId }) => taskId)
    // Sent together. Nobody is waited for, so these locks need no order among those of others.
    const [, ended, ...held] = await Promise.all([
      limitStatements(place),
      settleTogether(tx, ends),
      ...joining.map((plugin) => heldOf(plugin, place, taskIds)),
    ])
    const heldIds = new Set(held.flat())
    if (heldIds.size > 0) throw new HeldByOthers(heldIds)
    tx.afterCommit(() => tellEnded(withSettlements(ended, ends)))
    const settled = ends.filter((_, index) => ended[index])
    const settlements = new Map(settled.map(({ taskId, settlement }) => [taskId, settlement]))
    const read = async () => {
      const tasks = await readSettledTasks(tx, [...settlements.keys()])
      return tasks.flatMap((task) => {
        const settlement = settlements.get(task.id)
        return settlement ? [{ task, settlement }] : []
      })
    }
    let known = settled.length > 0 ? await read() : []
    for (const plugin of [...essential, ...others]) {
      const own = known.filter(({ task }) => plugin.joinsSettle?.(task) ?? true)
      if (own.length === 0) continue
      await runHook(place, `onSettledMany of plugin "${plugin.name}"`, (lent) =>
        plugin.onSettledMany?.(lent, own),
      )
      // What was held is spent or given back by now, which decides what the tasks have cost.
      if (plugin.essential) known = await read()
    }
    return ended.map((end) => end && { kind: 'settled', ...end })
  }

  /** Those of the tasks that somebody else holds something of, which the plugin would write. */
  async function heldOf(plugin: Plugin, place: HookPlace, taskIds: readonly string[]): Promise<string[]> {
    const held: string[] = []
    await runHook(place, `lockMany of plugin "${plugin.name}"`, async (lent) => {
      held.push(...((await plugin.lockMany?.(lent, taskIds)) ?? []))
    })
    return held
  }

  /** How a task may end: by itself, or together with others, with or without plugins. */
  function chooseWay(
    settlement: Settlement,
    { fence, onlyIf, also, about }: SettleOptions,
  ): 'plain' | 'joined' | 'alone' {
    if (!about || fence || onlyIf || also || !isProviderEnd(settlement)) return 'alone'
    const concerned = joining.filter((plugin) => plugin.joinsSettle?.(about) ?? true)
    if (concerned.length === 0) return 'plain'
    return concerned.every((plugin) => plugin.onSettledMany) ? 'joined' : 'alone'
  }

  return async (taskId, settlement, options = {}) => {
    const end = { taskId, settlement, progress: options.progress ?? null }
    const ways = {
      plain: () => settlePlain(end),
      joined: () => settleJoined(end),
      alone: () => settleAlone(taskId, settlement, options),
    }
    const result = await ways[chooseWay(settlement, options)]()
    // Not waited for: nobody shows hot progress of a task that has ended.
    if (result.kind === 'settled') void parts.hot?.forget([{ userId: result.userId, taskId }])
    return result
  }
}

/** Of those that were ended: whose each was, and how it ended. */
function withSettlements(
  ended: readonly ({ userId: string } | null)[],
  ends: readonly ProviderEnd[],
): { userId: string; settlement: Settlement }[] {
  return ends.flatMap(({ settlement }, index) => {
    const end = ended[index]
    return end ? [{ userId: end.userId, settlement }] : []
  })
}

function hasFilesToCopy(settlement: Settlement): boolean {
  return settlement.status === 'completed' && settlement.mirror === true && settlement.outputs.length > 0
}

interface PluginFailure {
  taskId: string
  traceId: string | null
  plugin: string
  error: unknown
}

function reportUnsaved(log: Logger, alert: Alert, { error, ...about }: PluginFailure): void {
  const { plugin } = about
  log.error({ err: error, ...about }, 'a task ended without what a plugin should have written')
  alert({
    name: 'save-failed',
    key: plugin,
    level: 'critical',
    message: `Plugin "${plugin}" keeps failing, and tasks end without what it writes. Mend it, then have them saved again.`,
    details: about,
  })
}

function reportHeld(log: Logger, alert: Alert, { error, ...about }: PluginFailure): void {
  const { plugin } = about
  log.error({ err: error, ...about }, 'a task cannot end without what a plugin should have written')
  alert({
    name: 'settle-held-up',
    key: plugin,
    level: 'critical',
    message: `Plugin "${plugin}" fails, and tasks cannot end without it. They are tried again until it works.`,
    details: about,
  })
}
