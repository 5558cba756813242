import type { Tx } from '../database/connect.ts'
import { isTransient } from '../database/database-errors.ts'
import { unlessCutOff } from '../database/transaction.ts'
import type { Settlement } from '../tasks/settle-task.ts'
import type { Plugin, SettledTask } from './plugin.ts'
import { type HookPlace, runHook } from './run-hook.ts'

/** A task's end that plugins join. */
export interface Finish {
  task: SettledTask
  /** Missing when it is made up for later. */
  settlement?: Settlement | undefined
}

/** What a plugin could not write, and why. */
export interface Unsaved {
  plugin: string
  error: unknown
}

/**
 * Lets each plugin write its part of a task's end. The first that throws spoils the transaction; `onAsk` is told before
 * each, so that it is known which.
 */
export async function joinTogether(
  place: HookPlace,
  { task, settlement }: Finish,
  plugins: readonly Plugin[],
  onAsk?: (plugin: Plugin) => void,
): Promise<void> {
  for (const plugin of plugins) {
    onAsk?.(plugin)
    await runHook(place, `onSettled of plugin "${plugin.name}"`, (lent) =>
      plugin.onSettled?.(lent, task, settlement),
    )
  }
}

/**
 * The same, each in a savepoint of its own, so that one that throws does not spoil the others. Returns those that did.
 * What only the commit would find out (deferred constraints) is found out here, while it is clear whose it is.
 */
export async function joinApart(
  { tx, over, limitMs }: HookPlace,
  finish: Finish,
  plugins: readonly Plugin[],
): Promise<Unsaved[]> {
  const unsaved: Unsaved[] = []
  for (const plugin of plugins) {
    try {
      await tx.savepoint(async (own) => {
        try {
          await joinTogether({ tx: own, over, limitMs }, finish, [plugin])
          await tryDeferredConstraints(own, over)
        } catch (error) {
          await unlessCutOff(error, over)
        }
      })
    } catch (error) {
      // Chosen as the victim of a deadlock: all of it is tried again.
      if (isTransient(error)) throw error
      unsaved.push({ plugin: plugin.name, error })
    }
  }
  return unsaved
}

class Tried extends Error {}

/** Throws what the commit would. Taken back if it is fine, so that they stay as deferred as they were. */
async function tryDeferredConstraints(tx: Tx, over: AbortSignal): Promise<void> {
  try {
    await tx.savepoint(async (own) => {
      await own`set constraints all immediate`.catch((error: unknown) => unlessCutOff(error, over))
      throw new Tried()
    })
  } catch (error) {
    if (!(error instanceof Tried)) throw error
  }
}
