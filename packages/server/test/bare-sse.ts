import type { IncomingMessage, ServerResponse } from 'node:http'
import { getRequestListener } from '@hono/node-server'
import { Hono } from 'hono'
import { streamSSE } from 'hono/streaming'

export interface BareSse {
  listener: (request: IncomingMessage, response: ServerResponse) => void
  /** The open streams, by whatever their clients sent as authorization. */
  groups: ReadonlyMap<
    string,
    ReadonlySet<{ writeSSE(message: { event: string; data: string; id: string }): Promise<void> }>
  >
  open(): number
}

/** Hono's own `streamSSE`, and nothing else: what a stream costs at the least. */
export function createBareSse(): BareSse {
  const groups = new Map<string, Set<Parameters<Parameters<typeof streamSSE>[1]>[0]>>()
  let open = 0
  const app = new Hono().get('/v1/stream', (c) =>
    streamSSE(c, async (stream) => {
      const name = c.req.header('authorization') ?? ''
      const group = groups.get(name) ?? new Set()
      groups.set(name, group)
      group.add(stream)
      open += 1
      await stream.writeSSE({ event: 'snapshot', data: '{"tasks":[],"gone":[],"cursor":"1"}', id: '1' })
      await new Promise<void>((resolve) => stream.onAbort(() => resolve()))
      group.delete(stream)
      open -= 1
    }),
  )
  return { listener: getRequestListener(app.fetch), groups, open: () => open }
}
