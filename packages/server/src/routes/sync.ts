import { syncBody } from '@holdfast/shared/schemas'
import { Hono } from 'hono'
import { syncTasks } from '../tasks/sync-tasks.ts'
import type { AppContext, AppEnv } from './app-context.ts'
import { readBody } from './read-input.ts'

export function syncRoutes({ sql }: AppContext) {
  return new Hono<AppEnv>().post('/', async (c) => {
    const { known, cursor } = await readBody(c, syncBody)
    return c.json(await syncTasks(sql, { userId: c.get('identity').userId, known, cursor: cursor ?? null }))
  })
}
