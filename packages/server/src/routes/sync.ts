import { syncBody } from '@holdfast/shared/schemas'
import { Hono } from 'hono'
import type { PollWatch } from '../streams/poll-watch.ts'
import { syncTasks } from '../tasks/sync-tasks.ts'
import type { AppContext, AppEnv } from './app-context.ts'
import { readBody } from './read-input.ts'

export function syncRoutes({ sql, present, answers, conversations }: AppContext, watch: PollWatch) {
  return new Hono<AppEnv>().post('/', async (c) => {
    const { known, cursor } = await readBody(c, syncBody)
    const { userId } = c.get('identity')
    watch.asked(userId)
    const answer = await syncTasks(sql, { userId, known, cursor: cursor ?? null, conversations }, present)
    answers.assertRead(userId)
    return c.json(answer)
  })
}
