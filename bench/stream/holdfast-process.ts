/** Holdfast with its streams: the real routes, feeds and database; no engine, since the benchmark plays the provider. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises'
import { createNotify } from '../../packages/server/src/bus/create-notify.ts'
import { createMemoryBus } from '../../packages/server/src/bus/memory-bus.ts'
import { createHoldfast } from '../../packages/server/src/create-holdfast.ts'
import { connect } from '../../packages/server/src/database/connect.ts'
import { createMemoryHot } from '../../packages/server/src/hot/memory-hot.ts'
import { createLog } from '../../packages/server/src/log.ts'
import { conversationsPlugin } from '../../packages/server/src/plugins/conversations/conversations-plugin.ts'
import { createSettle } from '../../packages/server/src/tasks/create-settle.ts'
import { idleProvider, idleTypes } from './idle-provider.ts'
import { seedRunning } from './seed-running.ts'
import { serveOrders } from './serve-orders.ts'
import { type ServerSettings, sharedNow } from './stream-messages.ts'

const settings = JSON.parse(process.argv[2] ?? '') as ServerSettings
const log = createLog('warn')
const bus = createMemoryBus()
const hot = createMemoryHot()
const sql = connect(settings.databaseUrl)
const tasks = await seedRunning(sql, settings.users)
const holdfast = createHoldfast({
  database: sql,
  auth: async (token) => ({ userId: token, expiresAt: null }),
  requestsPerMinute: { user: 1_000_000, address: 1_000_000 },
  providers: [idleProvider],
  types: idleTypes,
  bus,
  hot,
  log,
})
const settle = createSettle({
  sql,
  notify: createNotify({ bus, log }),
  plugins: [conversationsPlugin],
  log,
  alert: () => {},
  hot,
})
const server = createServer(holdfast.listener)
let open = 0
server.on('connection', (socket) => {
  open += 1
  socket.on('close', () => {
    open -= 1
  })
})
server.listen(0, '127.0.0.1', 4_096, () => {
  let progress = 0
  serveOrders((server.address() as AddressInfo).port, {
    open: () => open,
    async saturate(until) {
      while (performance.now() < until) {
        progress += 1
        for (const [index, { userId, taskId }] of tasks.entries()) {
          await hot.write([{ userId, taskId, progress }])
          bus.publish(userId, 'progressed')
          if (index % 20 === 19) await turn()
        }
        await turn()
      }
    },
    async settle(count, perSecond) {
      const at: Record<string, number> = {}
      for (const { taskId } of tasks.slice(0, count)) {
        const next = sleep(1_000 / perSecond)
        await settle(taskId, { status: 'completed', outputs: [] })
        at[taskId] = sharedNow()
        await next
      }
      await sleep(1_000)
      return at
    },
  })
})
