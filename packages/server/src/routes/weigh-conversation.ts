import type { Context } from 'hono'
import type { AppEnv } from './app-context.ts'

/** Nothing removes conversations, so a user could fill the database with them. */
const REQUESTS_OF_A_CONVERSATION = 10

/** A request that may make a conversation counts as ten of its user's, whichever route it takes. */
export function weighConversation(c: Context<AppEnv>): void {
  c.get('weigh')?.(REQUESTS_OF_A_CONVERSATION - 1)
}
