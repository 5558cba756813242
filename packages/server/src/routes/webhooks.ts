import { taskId as taskIdSchema } from '@holdfast/shared/schemas'
import { type Context, Hono } from 'hono'
import { HoldfastError } from '../errors.ts'
import { hearWebhook } from '../webhooks/hear-webhook.ts'
import type { AppContext, AppEnv } from './app-context.ts'
import { limitBody } from './limit-body.ts'

/** Results may be in the body, inline: a limit as for ordinary requests would lose exactly the successes. */
const MAX_WEBHOOK_BYTES = 16 * 1024 * 1024

/**
 * What providers call (S2: open without a token, but signed, or at an address that only the provider was told). Answers
 * fast and says little: whoever forges one learns nothing from it.
 */
export function webhookRoutes({ sql, bus, engine, types, providers, metrics }: AppContext) {
  async function hear(c: Context<AppEnv>, callback?: { taskId: string; secret: string }): Promise<Response> {
    const provider = providers.get(c.req.param('provider') ?? '')
    if (!provider) throw new HoldfastError('NOT_FOUND', 'There is no such provider here.')
    const call = {
      url: c.req.url,
      headers: Object.fromEntries(c.req.raw.headers),
      body: new Uint8Array(await c.req.arrayBuffer()),
      receivedAtMs: Date.now(),
    }
    const hearing = await hearWebhook(sql, types, { provider, call, ...(callback ? { callback } : {}) })
    metrics.heardWebhook(provider.name, hearing.kind)
    if (hearing.kind === 'refused' || hearing.kind === 'unreadable') {
      c.get('log').warn({ provider: provider.name, reason: hearing.reason }, 'a webhook was refused')
      throw hearing.kind === 'refused'
        ? new HoldfastError(
            'WEBHOOK_REFUSED',
            'The signature, the time or the address of this webhook is not good.',
          )
        : new HoldfastError('INVALID_REQUEST', 'The body cannot be understood.')
    }
    if (hearing.kind === 'heard') {
      engine.wake()
      if (hearing.changed) bus.publish(hearing.changed.userId)
    }
    return c.json({ received: true })
  }

  return new Hono<AppEnv>()
    .use(
      limitBody({
        maxBytes: MAX_WEBHOOK_BYTES,
        message: `A webhook may have at most ${MAX_WEBHOOK_BYTES / 1024 / 1024} MB.`,
      }),
    )
    .post('/:provider', (c) => hear(c))
    .post('/:provider/:taskId/:secret', (c) => {
      const { taskId, secret } = c.req.param()
      // An address that nobody can have been given: as good as a wrong one.
      if (!taskIdSchema.safeParse(taskId).success) {
        throw new HoldfastError(
          'WEBHOOK_REFUSED',
          'The signature, the time or the address of this webhook is not good.',
        )
      }
      return hear(c, { taskId, secret })
    })
}
