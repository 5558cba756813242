import { createTaskBody, listTasksQuery } from '@holdfast/shared/schemas'
import { Hono } from 'hono'
import { HoldfastError } from '../errors.ts'
import { cancelTask } from '../tasks/cancel-task.ts'
import { createTask } from '../tasks/create-task.ts'
import { findTask } from '../tasks/find-task.ts'
import { listTasks } from '../tasks/list-tasks.ts'
import { retryTask } from '../tasks/retry-task.ts'
import type { AppContext, AppEnv } from './app-context.ts'
import { readBody, readId, readIdempotencyKey, readQuery } from './read-input.ts'

export function taskRoutes({
  sql,
  bus,
  engine,
  types,
  providers,
  route,
  tasksPerMinute,
  keepResults,
}: AppContext) {
  return new Hono<AppEnv>()
    .post('/', async (c) => {
      const { userId, plan = null } = c.get('identity')
      const idempotencyKey = readIdempotencyKey(c)
      const body = await readBody(c, createTaskBody)
      const lane = await route({
        userId,
        type: body.type,
        params: body.params,
        priority: body.priority ?? 'normal',
        plan,
      })
      const { task, created } = await createTask(sql, types, {
        userId,
        body,
        idempotencyKey,
        traceId: c.get('traceId'),
        lane,
        perMinute: tasksPerMinute,
        keepMs: await keepResults({ userId, type: body.type, plan }),
      })
      if (created) {
        engine.wake()
        bus.publish(userId)
      }
      return c.json({ task }, created ? 201 : 200)
    })
    .get('/', async (c) => {
      const { userId } = c.get('identity')
      return c.json(await listTasks(sql, { userId, ...readQuery(c, listTasksQuery) }))
    })
    .get('/:id', async (c) => {
      const task = await findTask(sql, c.get('identity').userId, readId(c, 'task'))
      if (!task) throw new HoldfastError('NOT_FOUND', 'There is no such task.')
      return c.json({ task })
    })
    .post('/:id/cancel', async (c) => {
      const { userId } = c.get('identity')
      const task = await cancelTask(
        sql,
        userId,
        readId(c, 'task'),
        (name) => providers.get(name)?.cancel !== undefined,
      )
      engine.wake()
      bus.publish(userId)
      return c.json({ task })
    })
    .post('/:id/retry', async (c) => {
      const { userId, plan = null } = c.get('identity')
      const { task, created } = await retryTask(sql, types, {
        userId,
        taskId: readId(c, 'task'),
        idempotencyKey: readIdempotencyKey(c),
        traceId: c.get('traceId'),
        perMinute: tasksPerMinute,
        keepMs: (type) => keepResults({ userId, type, plan }),
      })
      if (created) {
        engine.wake()
        bus.publish(userId)
      }
      return c.json({ task }, created ? 201 : 200)
    })
}
