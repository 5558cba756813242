import { getConnInfo } from '@hono/node-server/conninfo'
import type { Context } from 'hono'
import type { AppEnv } from './app-context.ts'

/** What proxies add, each by its own habit. Nobody who calls directly has a reason to send one. */
const ADDED_BY_PROXIES =
  /^(forwarded|via|x-forwarded(-.+)?|x-real-ip|x-client-ip|x-cluster-client-ip|x-original-(host|url|forwarded-for)|x-proxy(user-ip|-.+)|true-client-ip|cf-.+|fastly-client-ip|x-envoy-.+|x-amzn-trace-id|x-arr-.+|x-appengine-.+|fly-client-ip)$/

/**
 * Whether the caller is on this machine, and it is really the caller: behind a proxy on this machine everybody's socket
 * is a local one. Not known, as when no socket is behind the request: no.
 */
export function isOnThisMachine(c: Context<AppEnv>): boolean {
  return isFromLoopback(c) && !isProxied(c)
}

export function isFromLoopback(c: Context<AppEnv>): boolean {
  const address = incomingOf(c) ? (getConnInfo(c).remote.address ?? '') : ''
  return address === '::1' || /^(::ffff:)?127\./.test(address)
}

/**
 * Whether a proxy shows itself. nginx with nothing but `proxy_pass` adds no header; before 1.29.7 it spoke HTTP/1.0. A
 * newer one cannot be told apart.
 */
export function isProxied(c: Context<AppEnv>): boolean {
  const incoming = incomingOf(c)
  if (incoming && 'httpVersion' in incoming && incoming.httpVersion === '1.0') return true
  return Object.keys(c.req.header()).some((name) => ADDED_BY_PROXIES.test(name))
}

function incomingOf(c: Context<AppEnv>): object | null {
  const bindings: unknown = c.env
  if (typeof bindings !== 'object' || bindings === null || !('incoming' in bindings)) return null
  return typeof bindings.incoming === 'object' ? bindings.incoming : null
}
