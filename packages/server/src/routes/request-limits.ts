import { isIP } from 'node:net'
import { getConnInfo } from '@hono/node-server/conninfo'
import type { Context } from 'hono'
import type { Logger } from 'pino'
import { HoldfastError } from '../errors.ts'
import type { AppEnv } from './app-context.ts'

/** How many requests this process takes in a minute. */
export interface RequestsPerMinute {
  /** Of one user. @default 600 */
  user: number
  /** Of one address, without a good token. @default 60 */
  address: number
}

/** Counted in this process's memory. Each throws `RATE_LIMITED` once there were too many. */
export interface RequestLimits {
  /** @param by as how many it counts @default 1 */
  user(userId: string, by?: number): void
  /** A request that has proven nothing. Not limited where nobody knows whence it came, as when there is no socket. */
  stranger(c: Context<AppEnv>): void
  /** Whence a request came; null: nobody knows. */
  addressOf(c: Context<AppEnv>): string | null
  /** A token that was good once. Apart from strangers: behind one address, many may expire at the same moment. */
  expired(token: string): void
}

export interface RequestLimitsOptions extends Partial<RequestsPerMinute> {
  /** How many proxies stand in front. */
  trustProxy: number
  log: Pick<Logger, 'warn'>
  now?: () => number
}

const MINUTE_MS = 60_000
/** About 5 MB. With more at once, the one whose minute began first is forgotten. */
const MOST_REMEMBERED = 50_000

export function createRequestLimits(options: RequestLimitsOptions): RequestLimits {
  const { user = 600, address = 60, trustProxy, log, now = () => performance.now() } = options
  const users = createMinuteCounter(user, now)
  const strangers = createMinuteCounter(address, now)
  let hasWarned = false

  return {
    user: (userId, by) => users(userId, `At most ${user} requests a minute.`, by),
    expired: (token) => users(`expired ${token.slice(-100)}`, 'Get a fresh token.'),
    addressOf: (c) => addressOf(c, trustProxy),
    stranger(c) {
      const forwarded = c.req.header('x-forwarded-for')
      if (forwarded !== undefined && trustProxy === 0 && !hasWarned) {
        hasWarned = true
        log.warn('requests come through a proxy; set TRUST_PROXY, or all callers count as one address')
      }
      const from = addressOf(c, trustProxy)
      if (from !== null) strangers(from, `At most ${address} requests a minute without a good token.`)
    },
  }
}

/** Counts by key, in minutes that begin with the first request of each. */
function createMinuteCounter(
  most: number,
  now: () => number,
): (key: string, message: string, by?: number) => void {
  /** In the order in which their minutes began. */
  const minutes = new Map<string, { begunAt: number; count: number }>()

  function begin(key: string, at: number): { begunAt: number; count: number } {
    for (const [other, { begunAt }] of minutes) {
      if (at - begunAt < MINUTE_MS && minutes.size < MOST_REMEMBERED) break
      minutes.delete(other)
    }
    const minute = { begunAt: at, count: 0 }
    minutes.set(key, minute)
    return minute
  }

  return (key, message, by = 1) => {
    const at = now()
    const known = minutes.get(key)
    if (known && at - known.begunAt >= MINUTE_MS) minutes.delete(key)
    const minute = minutes.get(key) ?? begin(key, at)
    // One that counts as many is let through while there is room for one, however low the limit is.
    const hasRoom = minute.count < most
    minute.count += by
    if (hasRoom) return
    const retryAfterSeconds = Math.max(1, Math.ceil((minute.begunAt + MINUTE_MS - at) / 1_000))
    throw new HoldfastError('RATE_LIMITED', `${message} Try again in ${retryAfterSeconds} s.`, {
      retryAfterSeconds,
    })
  }
}

/** Whence a request came: its socket, or what the outermost proxy of ours saw. Null: nobody knows. */
export function addressOf(c: Context<AppEnv>, trustProxy: number): string | null {
  const bindings: unknown = c.env
  if (typeof bindings !== 'object' || bindings === null || !('incoming' in bindings)) return null
  const socket = getConnInfo(c).remote.address
  // Each proxy of ours has written who called it; what stands before that is the caller's own invention.
  const told = (c.req.header('x-forwarded-for') ?? '').split(',').slice(-trustProxy)
  const from = trustProxy > 0 ? (readAddress(told[0] ?? '') ?? socket) : socket
  return from === undefined ? null : toNetwork(from)
}

/** With a port, or in brackets, as some proxies write it. */
function readAddress(text: string): string | undefined {
  const bare = text
    .trim()
    .replace(/^\[([^\]]+)\](:\d+)?$/, '$1')
    .replace(/^(\d+\.\d+\.\d+\.\d+):\d+$/, '$1')
  return isIP(bare) ? bare : undefined
}

/** A caller with one IPv6 address has 2^64 of them. */
function toNetwork(address: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1]
  if (mapped !== undefined || !address.includes(':')) return mapped ?? address
  const [head = '', tail] = (address.split('%')[0] ?? '').split('::')
  const groups = head === '' ? [] : head.split(':')
  const rest = tail === undefined || tail === '' ? [] : tail.split(':')
  const zeros = tail === undefined ? 0 : Math.max(0, 8 - groups.length - rest.length)
  return [...groups, ...Array<string>(zeros).fill('0'), ...rest]
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':')
}
