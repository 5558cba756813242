import type { Tx } from '../database/connect.ts'
import type { CreateFate, Plugin, SettledTask } from '../plugins/plugin.ts'
import { readSettledTask } from '../plugins/read-settled-task.ts'
import { limitStatements, PLUGIN_LIMIT_MS, runHook } from '../plugins/run-hook.ts'

/** A transaction that plugins may join. */
interface JoinedTransaction {
  tx: Tx
  /** Aborted when the transaction is over. */
  over: AbortSignal
}

/** What may still happen to a task that has ended, and lets plugins join it: all of them, or nothing is written. */
export interface Aftermath {
  /** The task was cancelled while its create was under way, and now it is known what became of that. */
  createKnown(place: JoinedTransaction, taskId: string, fate: CreateFate): Promise<void>
  /** A file of the completed task died at its source before it could be copied. */
  fileLost(place: JoinedTransaction, taskId: string): Promise<void>
}

export function createAftermath(plugins: readonly Plugin[]): Aftermath {
  async function join(
    { tx, over }: JoinedTransaction,
    taskId: string,
    { name, joining }: { name: string; joining: readonly Plugin[] },
    ask: (plugin: Plugin, tx: Tx, task: SettledTask) => Promise<void> | undefined,
  ): Promise<void> {
    if (joining.length === 0) return
    const place = { tx, over, limitMs: PLUGIN_LIMIT_MS }
    const [, task] = await Promise.all([limitStatements(place), readSettledTask(tx, taskId)])
    for (const plugin of joining) {
      await runHook(place, `${name} of plugin "${plugin.name}"`, (lent) => ask(plugin, lent, task))
    }
  }
  const createKnown = { name: 'onCreateKnown', joining: plugins.filter((plugin) => plugin.onCreateKnown) }
  const fileLost = { name: 'onFileLost', joining: plugins.filter((plugin) => plugin.onFileLost) }

  return {
    createKnown: (place, taskId, fate) =>
      join(place, taskId, createKnown, (plugin, tx, task) => plugin.onCreateKnown?.(tx, task, fate)),
    fileLost: (place, taskId) =>
      join(place, taskId, fileLost, (plugin, tx, task) => plugin.onFileLost?.(tx, task)),
  }
}
