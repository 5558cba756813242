import type { WriteContext } from '../bus/create-notify.ts'
import { gather } from '../concurrency/gather.ts'
import { isDatabaseAway } from '../database/database-errors.ts'
import { HoldfastError } from '../errors.ts'
import type { Plugin } from '../plugins/plugin.ts'
import { type Created, createTask, type Submit } from './create-task.ts'
import { createTogether, type PlainCreate } from './create-together.ts'
import { DEFAULT_KEEP_MS } from './keep-results.ts'
import { keyOf, type PreparedTask, prepareTask } from './prepare-task.ts'
import { withoutUrls } from './present-tasks.ts'
import type { TaskTypes } from './task-types.ts'
import { createUserTurns } from './user-turns.ts'

/** Creates of one user that may wait for each other in this process. */
const MOST_OF_ONE_USER = 128
/** About a second's worth. Who waits longer than that has given up or asked again. */
const MOST_WAITING = 1_000
const MOST_IN_ONE_STATEMENT = 100

export interface SubmitParts extends WriteContext {
  types: TaskTypes
  plugins: readonly Plugin[]
  /** How many creates may wait in this process; more are told to come again. @default 1000 */
  mostWaiting?: number
}

/**
 * One `Submit` for a server. Tasks that need nothing but their rows are made together, whatever came at the same time;
 * those that plugins join, retries and adoptions have a transaction each.
 */
export function createSubmit(parts: SubmitParts): Submit {
  const { sql, notify, types, plugins, mostWaiting = MOST_WAITING } = parts
  const takeTurn = createUserTurns(MOST_OF_ONE_USER)
  const joining = plugins.filter((plugin) => plugin.beforeSubmit || plugin.onSubmit)
  /** What is under way with an idempotency key, by user and key. */
  const keyed = new Map<string, Promise<unknown>>()
  let waiting = 0

  const createPlain = gather<PreparedTask, Created>({
    async together(tasks) {
      const rows = await createTogether(sql, tasks.map(toPlainCreate))
      const made = tasks.filter((_, index) => rows[index])
      for (const provider of new Set(made.map(({ submission }) => submission.provider))) {
        notify.due('send', provider)
      }
      for (const userId of new Set(made.map(({ input }) => input.userId))) notify.changed(userId)
      return Promise.all(
        rows.map(async (row) => {
          const [task] = row ? await withoutUrls.tasks([row]) : []
          return task ? { task, created: true } : null
        }),
      )
    },
    alone: ({ input }) => createTask(parts, types, input, plugins, takeTurn),
    isHopeless: isDatabaseAway,
    maxItems: MOST_IN_ONE_STATEMENT,
  })

  function isPlain({ submission, adoption }: PreparedTask): boolean {
    if (adoption || submission.retryOf !== null) return false
    return !joining.some((plugin) => plugin.joinsSubmit?.(submission) ?? true)
  }

  const create: Submit = async (input) => {
    const prepared = tryToPrepare(types, input)
    if (prepared && isPlain(prepared)) return createPlain(prepared)
    return createTask(parts, types, input, plugins, takeTurn)
  }

  /** Of two with the same key, the second finds what the first has made. */
  const createOnce: Submit = async (input) => {
    const key = keyOf(input)
    if (!key) return create(input)
    const name = JSON.stringify([key.userId, key.key])
    const before = keyed.get(name)
    const own = before ? before.then(() => createTask(parts, types, input, plugins, takeTurn)) : create(input)
    const settled = own.catch(() => {})
    keyed.set(name, settled)
    try {
      return await own
    } finally {
      if (keyed.get(name) === settled) keyed.delete(name)
    }
  }

  return async (input) => {
    if (waiting >= mostWaiting) {
      throw new HoldfastError('UNAVAILABLE', 'More tasks come in than this server can take on. Try again.', {
        retryAfterSeconds: 1,
      })
    }
    waiting += 1
    try {
      return await createOnce(input)
    } finally {
      waiting -= 1
    }
  }
}

/** Null for what is refused: `createTask` says so, unless its key was used before. */
function tryToPrepare(types: TaskTypes, input: Parameters<Submit>[0]): PreparedTask | null {
  try {
    return prepareTask(types, input)
  } catch (error) {
    if (error instanceof HoldfastError) return null
    throw error
  }
}

function toPlainCreate({ input, submission, key, deadlineMs }: PreparedTask): PlainCreate {
  return {
    submission,
    traceId: input.traceId,
    key,
    room: input.room ?? null,
    maxAttempts: input.body.maxAttempts ?? 3,
    deadlineMs,
    keepMs: input.keepMs ?? DEFAULT_KEEP_MS,
    plan: input.plan ?? null,
  }
}
