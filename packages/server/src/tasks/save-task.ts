import { isTerminal, type Task } from '@holdfast/shared'
import type { Logger } from 'pino'
import type { WriteContext } from '../bus/create-notify.ts'
import { transaction } from '../database/transaction.ts'
import { HoldfastError } from '../errors.ts'
import { joinApart } from '../plugins/join-finish.ts'
import type { Plugin } from '../plugins/plugin.ts'
import { readSettledTask } from '../plugins/read-settled-task.ts'
import { limitStatements, PLUGIN_LIMIT_MS } from '../plugins/run-hook.ts'
import { findTask } from './find-task.ts'

export interface SaveParts extends WriteContext {
  plugins: readonly Plugin[]
  log: Logger
  pluginLimitMs?: number
}

/** Writes what is missing of a task's end. */
export type Save = (userId: string, taskId: string) => Promise<Task>

const TRY_AGAIN_SECONDS = 30

/**
 * Makes up for what could not be written when a task ended (F12): asks the plugins that failed then, and only those, so
 * that nothing is written twice however often it is called. A task of which nothing is missing is returned as it is.
 */
export function createSave(parts: SaveParts): Save {
  const { sql, notify, plugins, log, pluginLimitMs: limitMs = PLUGIN_LIMIT_MS } = parts
  /** Names of those that failed again. */
  function makeUp(taskId: string): Promise<string[]> {
    return transaction(sql, async (tx, over) => {
      // Two that save at once take turns, and the second finds nothing left to do.
      const [row] = await tx<{ unsaved: string[] }[]>`
        select unsaved from holdfast.tasks where id = ${taskId} for update
      `
      const before = row?.unsaved ?? []
      if (before.length === 0) return []
      const place = { tx, over, limitMs }
      const [, task] = await Promise.all([limitStatements(place), readSettledTask(tx, taskId)])
      const asked = plugins.filter(({ name }) => before.includes(name))
      const failed = await joinApart(place, { task }, asked)
      for (const { plugin, error } of failed) {
        log.error(
          { err: error, taskId, traceId: task.traceId, plugin },
          'a plugin failed again to write what belongs to a task',
        )
      }
      const left = failed.map(({ plugin }) => plugin)
      if (left.length < before.length) {
        tx.afterCommit(() => notify.changed(task.userId))
        await tx`update holdfast.tasks set unsaved = ${left}::text[] where id = ${taskId}`
      }
      return left
    })
  }

  return async (userId, taskId) => {
    const task = await findTask(sql, userId, taskId)
    if (!task) throw new HoldfastError('NOT_FOUND', 'There is no such task.')
    if (!isTerminal(task.status)) {
      throw new HoldfastError(
        'TASK_NOT_FINISHED',
        `The task is ${task.status}; what it makes is saved by itself when it is done.`,
      )
    }
    if (task.saveState === 'none') {
      throw new HoldfastError(
        'NOTHING_TO_SAVE',
        `The task has ended as ${task.status} and has no result to save.`,
      )
    }
    if (task.saveState === 'saved') return task

    const left = await makeUp(taskId)
    if (left.length > 0) {
      throw new HoldfastError(
        'UNAVAILABLE',
        'Not all of it could be saved yet. Nothing is lost; try again later.',
        { retryAfterSeconds: TRY_AGAIN_SECONDS },
      )
    }
    const saved = await findTask(sql, userId, taskId)
    if (!saved) throw new HoldfastError('NOT_FOUND', 'There is no such task.')
    return saved
  }
}
