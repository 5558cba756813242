import { taskId as taskIdSchema } from '@holdfast/shared/schemas'
import { type Context, Hono } from 'hono'
import { HoldfastError } from '../errors.ts'
import { hearWebhook } from '../webhooks/hear-webhook.ts'
import type { AppContext, AppEnv } from './app-context.ts'
import { createFewAtOnce } from './few-at-once.ts'
import { readBytes } from './read-bytes.ts'

const KB = 1024
/** Where nothing is proven yet, and only the body can prove it: a signed event, without results. */
const UNPROVEN_BYTES = 64 * KB
/** At a task's own address, for adapters that say nothing. */
const DEFAULT_BYTES = 256 * KB
/** Whatever an adapter says. Larger results are found by the poll, which does not need a webhook. */
const MOST_BYTES = 1024 * KB
const BODY_WITHIN_MS = 10_000
/** So that bodies under way take 16 MB at most, and those of strangers 1 MB. */
const PROVEN_AT_ONCE = 16
const UNPROVEN_AT_ONCE = 16

/**
 * What providers call (S2: open without a token, but signed, or at an address that only the provider was told). The
 * address is checked before the body is read. Answers fast and says little: whoever forges one learns nothing from it.
 */
export function webhookRoutes({ sql, bus, engine, types, providers, metrics }: AppContext) {
  // Apart, so that strangers cannot take the room of those who have proven something.
  const proven = createFewAtOnce(PROVEN_AT_ONCE)
  const unproven = createFewAtOnce(UNPROVEN_AT_ONCE)

  async function hear(c: Context<AppEnv>, callback?: { taskId: string; secret: string }): Promise<Response> {
    const provider = providers.get(c.req.param('provider') ?? '')
    if (!provider) throw new HoldfastError('NOT_FOUND', 'There is no such provider here.')
    const maxBytes = callback
      ? Math.min(provider.maxWebhookBytes ?? DEFAULT_BYTES, MOST_BYTES)
      : UNPROVEN_BYTES
    const hearing = await hearWebhook(sql, types, {
      provider,
      ...(callback ? { callback } : {}),
      // Only as long as it is being read and understood: the database is asked outside.
      read: (understand) =>
        (callback ? proven : unproven)(async () =>
          understand({
            url: c.req.url,
            headers: c.req.header(),
            body: await readBytes(c, { maxBytes, withinMs: BODY_WITHIN_MS }),
            receivedAtMs: Date.now(),
          }),
        ),
    })
    metrics.heardWebhook(provider.name, hearing.kind)
    if (hearing.kind === 'refused' || hearing.kind === 'unreadable') {
      c.get('log').warn({ provider: provider.name, reason: hearing.reason }, 'a webhook was refused')
      throw hearing.kind === 'refused'
        ? refusal()
        : new HoldfastError('INVALID_REQUEST', 'The body cannot be understood.')
    }
    if (hearing.kind === 'heard') {
      engine.wake()
      bus.publish(hearing.userId)
    }
    return c.json({ received: true })
  }

  return new Hono<AppEnv>()
    .post('/:provider', (c) => hear(c))
    .post('/:provider/:taskId/:secret', (c) => {
      const { taskId, secret } = c.req.param()
      // An address that nobody can have been given: as good as a wrong one.
      if (!taskIdSchema.safeParse(taskId).success) throw refusal()
      return hear(c, { taskId, secret })
    })
}

function refusal(): HoldfastError {
  return new HoldfastError(
    'WEBHOOK_REFUSED',
    'The signature, the time or the address of this webhook is not good.',
  )
}
