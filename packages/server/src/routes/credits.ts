import { creditsQuery } from '@holdfast/shared/schemas'
import { Hono } from 'hono'
import { readCredits } from '../plugins/credits/credits.ts'
import type { AppContext, AppEnv } from './app-context.ts'
import { readQuery } from './read-input.ts'

export function creditRoutes({ sql, types, credits }: AppContext) {
  return new Hono<AppEnv>().get('/', async (c) => {
    const { userId } = c.get('identity')
    return c.json(await readCredits(sql, { userId, types, options: credits, ...readQuery(c, creditsQuery) }))
  })
}
