/** Many clients in a process of their own, so that what they cost does not delay whoever measures. */
import { until } from '../crash/until.ts'
import type { ClientsAnswer, ClientsOrder, ClientsSettings } from './client-messages.ts'
import { createWatchingClient, type WatchingClient } from './watching-client.ts'

const OPENING_AT_ONCE = 20
let clients: WatchingClient[] = []

async function openAll(settings: ClientsSettings): Promise<void> {
  clients = settings.clients.map((one) => createWatchingClient(one, settings))
  const waiting = clients.values()
  const opener = async () => {
    for (const client of waiting) {
      await client.open()
      await until('a stream', async () => client.isPush(), { withinMs: 30_000 })
    }
  }
  await Promise.all(Array.from({ length: OPENING_AT_ONCE }, opener))
}

const answer = (given: ClientsAnswer) => process.send?.(given)
process.on('message', async (order: ClientsOrder) => {
  if (order.kind === 'open') {
    await openAll(order.settings)
    answer({ kind: 'opened' })
  } else if (order.kind === 'least') {
    answer({ kind: 'least', completed: Math.min(...clients.map((client) => client.completed())) })
  } else if (order.kind === 'report') {
    answer({ kind: 'report', clients: clients.map((client) => client.report()) })
  } else {
    await Promise.all(clients.map((client) => client.close()))
    answer({ kind: 'closed' })
  }
})
// Whoever asked is gone, however it ended.
process.on('disconnect', () => process.exit(0))
answer({ kind: 'ready' })
