import { timingSafeEqual } from 'node:crypto'
import { Hono } from 'hono'
import { HoldfastError } from '../errors.ts'
import type { AppContext, AppEnv } from './app-context.ts'
import { isOnThisMachine } from './loopback.ts'

/** `GET /metrics` in Prometheus' text form, for callers on this machine or with the metrics token (S2). */
export function metricsRoutes({ metrics, metricsToken, requests }: AppContext) {
  return new Hono<AppEnv>().get('/metrics', async (c) => {
    if (!isOnThisMachine(c) && !matches(c.req.header('authorization'), metricsToken)) {
      requests.stranger(c)
      throw new HoldfastError(
        'UNAUTHENTICATED',
        'Metrics are for callers on this machine, or with the metrics token.',
      )
    }
    c.header('Content-Type', metrics.registry.contentType)
    return c.body(await metrics.registry.metrics())
  })
}

function matches(header: string | undefined, token: string | null): boolean {
  if (token === null || header === undefined) return false
  const given = Buffer.from(header)
  const wanted = Buffer.from(`Bearer ${token}`)
  return given.length === wanted.length && timingSafeEqual(given, wanted)
}
