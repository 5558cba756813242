import { getConnInfo } from '@hono/node-server/conninfo'
import type { Context } from 'hono'
import type { AppEnv } from './app-context.ts'

/** Whether the caller is on this machine. Not known, as when no socket is behind the request: no. */
export function isFromLoopback(c: Context<AppEnv>): boolean {
  const bindings: unknown = c.env
  if (typeof bindings !== 'object' || bindings === null || !('incoming' in bindings)) return false
  const address = getConnInfo(c).remote.address ?? ''
  return address === '::1' || /^(::ffff:)?127\./.test(address)
}
