/** The bare limit: Hono's own `streamSSE` in a loop that knows nothing, with the same bytes for as many streams. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setImmediate as turn } from 'node:timers/promises'
import { createBareSse } from '../../packages/server/test/bare-sse.ts'
import { sampleTask } from './sample-task.ts'
import { serveOrders } from './serve-orders.ts'

const bare = createBareSse()
const server = createServer(bare.listener)
server.listen(0, '127.0.0.1', 4_096, () => {
  let progress = 0
  serveOrders((server.address() as AddressInfo).port, {
    open: bare.open,
    async saturate(until) {
      while (performance.now() < until) {
        progress += 1
        let index = 0
        for (const group of bare.groups.values()) {
          const data = JSON.stringify({ task: { ...sampleTask, progress }, change: 'progress' })
          for (const stream of group) void stream.writeSSE({ event: 'task', data, id: '1234' })
          index += 1
          if (index % 20 === 0) await turn()
        }
        await turn()
      }
    },
    settle: async () => ({}),
  })
})
