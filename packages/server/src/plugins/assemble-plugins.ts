import type { Tx } from '../database/connect.ts'
import type { TaskTypes } from '../tasks/task-types.ts'
import { conversationsPlugin, noConversationsPlugin } from './conversations/conversations-plugin.ts'
import { assertCreditsOptions, type CreditsOptions } from './credits/credits-options.ts'
import { type CreditsTold, createCreditsPlugin } from './credits/credits-plugin.ts'
import { assertPrices } from './credits/price-of.ts'
import type { Plugin, SettledTask } from './plugin.ts'

export interface PluginSettings {
  /**
   * Joins the transaction that ends a task: what you write with `tx`, into tables of your own, is committed together
   * with the end or not at all. Called once per task, whichever way it ended.
   *
   * @example
   * onSettled: async (tx, task) => {
   *   if (task.status === 'completed') await tx`insert into gallery ${tx({ user_id: task.userId, task_id: task.id })}`
   * }
   */
  onSettled?: (tx: Tx, task: SettledTask) => void | Promise<void>
  /** Whether tasks may belong to conversations, in which they leave a message when they complete. @default true */
  conversations?: boolean
  /** Charge for tasks, by the `credits` of their types. @default false: everything is free */
  credits?: false | CreditsOptions
  /** More that joins the beginning and the end of tasks. */
  plugins?: Plugin[]
}

/** All that joins, in the order in which it is asked. Accounts come before conversations, as everywhere. */
export function assemblePlugins(settings: PluginSettings, types: TaskTypes, told?: CreditsTold): Plugin[] {
  const { onSettled, conversations = true, credits = false, plugins = [] } = settings
  if (credits !== false) {
    assertCreditsOptions(credits)
    assertPrices(types)
  }
  const all: Plugin[] = [
    createCreditsPlugin(types, credits, told),
    conversations ? conversationsPlugin : noConversationsPlugin,
    ...plugins,
    ...(onSettled
      ? [{ name: 'app', onSettled: async (tx: Tx, task: SettledTask) => onSettled(tx, task) }]
      : []),
  ]
  const names = all.map(({ name }) => name)
  const twice = names.find((name, index) => name === '' || names.indexOf(name) !== index)
  if (twice !== undefined) {
    throw new Error(`Each plugin needs a name of its own, and "${twice}" is not. Taken: ${names.join(', ')}.`)
  }
  return all
}
