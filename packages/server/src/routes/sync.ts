import { syncBody } from '@holdfast/shared/schemas'
import { Hono } from 'hono'
import { syncTasks } from '../tasks/sync-tasks.ts'
import type { AppContext, AppEnv } from './app-context.ts'
import { readBody } from './read-input.ts'

export function syncRoutes({ sql, present }: AppContext) {
  return new Hono<AppEnv>().post('/', async (c) => {
    const { known, cursor } = await readBody(c, syncBody)
    const { userId } = c.get('identity')
    return c.json(await syncTasks(sql, { userId, known, cursor: cursor ?? null }, present))
  })
}
