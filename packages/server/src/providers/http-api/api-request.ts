import type { HttpReply, HttpRequest } from '../http-call.ts'
import { parseJson } from '../read-json.ts'

/** One call to the vendor. Where it goes, with what headers and for how long at most is added to it. */
export interface ApiRequest {
  /** @default 'POST' with something to send, else 'GET' */
  method?: HttpRequest['method']
  /** Comes after the base URL, such as `/jobs/7`. Put ids through `encodeURIComponent`. */
  path: string
  query?: Record<string, string | number | boolean | null | undefined>
  /** Beside those that every call has. */
  headers?: Record<string, string>
  /** Sent as JSON. */
  json?: unknown
  /** Sent as it is, instead of `json`. Say in `headers` what it is. */
  body?: string | Uint8Array
}

/** What the vendor, or a proxy on the way, answered. */
export interface ApiReply {
  status: number
  /** Lower-case names. */
  headers: Record<string, string>
  body: string
  /** The body as JSON; undefined if it is none. */
  json: unknown
  /** When it came. */
  now: number
}

export function toApiReply(reply: Omit<HttpReply, 'kind'>, now: number): ApiReply {
  let parsed: { json: unknown } | undefined
  return {
    status: reply.status,
    body: reply.body,
    now,
    // Most replies are read without a look at these.
    get headers() {
      return reply.headers
    },
    get json() {
      parsed ??= { json: parseJson(reply.body) }
      return parsed.json
    },
  }
}

export function isOk({ status }: Pick<ApiReply, 'status'>): boolean {
  return status >= 200 && status < 300
}

/** The call as it goes out: below the path of the base URL, with what every call has. */
export function toHttpRequest(
  { method, path, query = {}, headers = {}, json, body }: ApiRequest,
  every: { prefix: string; headers: Record<string, string>; timeoutMs: number },
): HttpRequest {
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== null) search.set(name, String(value))
  }
  const isJson = body === undefined && json !== undefined
  const sent = isJson ? JSON.stringify(json) : body
  return {
    method: method ?? (sent === undefined ? 'GET' : 'POST'),
    path: `${every.prefix}${path}${search.size > 0 ? `?${search}` : ''}`,
    headers: { ...every.headers, ...(isJson ? { 'content-type': 'application/json' } : {}), ...headers },
    ...(sent === undefined ? {} : { body: sent }),
    timeoutMs: every.timeoutMs,
  }
}
