import type { Priority, Task } from '@holdfast/shared'
import { createTaskBody, listTasksQuery } from '@holdfast/shared/schemas'
import { Hono } from 'hono'
import { HoldfastError } from '../errors.ts'
import type { PollWatch } from '../streams/poll-watch.ts'
import { cancelTask } from '../tasks/cancel-task.ts'
import { findTask } from '../tasks/find-task.ts'
import { isOnlyActive, listTasks } from '../tasks/list-tasks.ts'
import { type NewSettings, retryTask } from '../tasks/retry-task.ts'
import { readTaskTag, toTaskTag } from '../tasks/task-tag.ts'
import type { AppContext, AppEnv } from './app-context.ts'
import { readBody, readId, readIdempotencyKey, readQuery } from './read-input.ts'
import { weighConversation } from './weigh-conversation.ts'

export function taskRoutes(context: AppContext, watch: PollWatch) {
  const { sql, submit, settle, save, present, route, room, keepResults, choosePriority, answers } = context

  /** What a call that changes something answers with: the task again with the URLs of its files, if it has any. */
  async function shown(userId: string, task: Task): Promise<Task> {
    return (task.result && (await findTask(sql, userId, task.id, present))) ?? task
  }

  /** @param said by a service key */
  async function settingsFor(asked: Asked, said?: Priority): Promise<NewSettings> {
    const { userId, type, plan } = asked
    const priority = said ?? (await choosePriority(asked))
    const lane = await route({ ...asked, priority })
    return { lane, priority, keepMs: await keepResults({ userId, type, plan }), plan }
  }

  return new Hono<AppEnv>()
    .post('/', async (c) => {
      const { userId, plan: ofToken = null, isService = false } = c.get('identity')
      const idempotencyKey = readIdempotencyKey(c)
      const body = await readBody(c, createTaskBody)
      if (!isService) requireOnlyUsers(body)
      if (body.conversation) weighConversation(c)
      const plan = body.plan ?? ofToken
      // Whoever names a job gets its result: a user could name somebody else's.
      if (body.externalId !== undefined && !isService) {
        throw new HoldfastError('FORBIDDEN', 'Only your own backend may adopt a job, with a service key.')
      }
      const asked = { userId, type: body.type, params: body.params, plan }
      const { task, created } = await submit({
        userId,
        body,
        idempotencyKey,
        traceId: c.get('traceId'),
        ...(isService ? {} : { room: room(plan) }),
        ...(await settingsFor(asked, body.priority)),
      })
      return c.json({ task: await shown(userId, task) }, created ? 201 : 200)
    })
    .get('/', async (c) => {
      const { userId, isService = false } = c.get('identity')
      const input = { userId, ...readQuery(c, listTasksQuery) }
      // A backend may look at everybody's tasks, and nobody waits.
      if (isOnlyActive(input) && !isService) watch.asked(userId)
      // Of ended tasks the URLs change with every answer; what is unfinished is told by its versions.
      const isTagged = isOnlyActive(input)
      const known = isTagged ? c.req.header('if-none-match') : undefined
      if (known !== undefined) {
        const tag = await readTaskTag(sql, input, present)
        if (known.includes(tag)) return c.body(null, 304, taggedHeaders(tag))
      }
      const list = await listTasks(sql, input, present)
      if (!isService) answers.assertRead(userId)
      return c.json(list, 200, isTagged ? taggedHeaders(toTaskTag(list.tasks, list.nextCursor !== null)) : {})
    })
    .get('/:id', async (c) => {
      const task = await findTask(sql, c.get('identity').userId, readId(c, 'task'), present)
      if (!task) throw new HoldfastError('NOT_FOUND', 'There is no such task.')
      return c.json({ task })
    })
    .post('/:id/cancel', async (c) => {
      const { userId } = c.get('identity')
      const task = await cancelTask(sql, settle, userId, readId(c, 'task'), present)
      return c.json({ task })
    })
    .post('/:id/retry', async (c) => {
      const { userId, plan = null, isService = false } = c.get('identity')
      const { task, created } = await retryTask(sql, submit, {
        userId,
        taskId: readId(c, 'task'),
        idempotencyKey: readIdempotencyKey(c),
        traceId: c.get('traceId'),
        // A service key says nothing of the user's plan: then what the first task had is kept.
        ...(isService
          ? {}
          : {
              room: room(plan),
              settingsFor: ({ type, params }) => settingsFor({ userId, type, params, plan }),
            }),
      })
      return c.json({ task: await shown(userId, task) }, created ? 201 : 200)
    })
    .post('/:id/save', async (c) => {
      const { userId } = c.get('identity')
      const task = await save(userId, readId(c, 'task'))
      return c.json({ task: await shown(userId, task) })
    })
}

type Asked = Parameters<AppContext['choosePriority']>[0]

/** What a user could spend the operator's money with, or go before others. */
const ONLY_OF_SERVICES = ['deadlineMs', 'maxAttempts', 'priority', 'plan'] as const

function requireOnlyUsers(body: Partial<Record<(typeof ONLY_OF_SERVICES)[number], unknown>>): void {
  const wrong = ONLY_OF_SERVICES.filter((name) => body[name] !== undefined)
  if (wrong.length === 0) return
  throw new HoldfastError(
    'INVALID_REQUEST',
    `${wrong.join(', ')}: only your own backend may set this, with a service key. Leave it out.`,
  )
}

/** To be kept by the caller alone, and asked about every time. */
function taggedHeaders(tag: string): Record<string, string> {
  return { ETag: tag, 'Cache-Control': 'private, no-cache' }
}
