import type { ServerAnswer, ServerOrder } from './stream-messages.ts'

export interface OrderedServer {
  open(): number
  /** Sends one round to every stream; false when the time is up. */
  saturate(until: number): Promise<void>
  settle(count: number, perSecond: number): Promise<Record<string, number>>
}

/** Answers the orders of the benchmark, one at a time. */
export function serveOrders(port: number, server: OrderedServer): void {
  const answer = (given: ServerAnswer) => process.send?.(given)
  process.on('message', async (order: ServerOrder) => {
    if (order.kind === 'memory') {
      for (let n = 0; n < 3; n += 1) {
        global.gc?.()
        await new Promise((resolve) => setTimeout(resolve, 50))
      }
      const { rss, heapUsed } = process.memoryUsage()
      answer({ kind: 'memory', rssBytes: rss, heapBytes: heapUsed, open: server.open() })
    } else if (order.kind === 'saturate') {
      const before = process.cpuUsage()
      await server.saturate(performance.now() + order.forMs)
      const { user, system } = process.cpuUsage(before)
      answer({ kind: 'saturated', cpuMs: (user + system) / 1000 })
    } else {
      answer({ kind: 'settled', at: await server.settle(order.count, order.perSecond) })
    }
  })
  // The benchmark is gone, however it ended.
  process.on('disconnect', () => process.exit(0))
  answer({ kind: 'ready', port })
}
