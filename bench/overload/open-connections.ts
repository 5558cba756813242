import { Client } from 'undici'
import type { Ask } from '../lifecycle/callers.ts'

/** Who has waited for so long is not answered any more. */
const ANSWERS_WITHIN_MS = 30_000

/**
 * Connections to one server, as many as there are requests at a time: whoever asks never waits for one. The latest used
 * goes first. A pool looks at all it has before each request, which costs as much as the request once there are thousands.
 *
 * @param ready so many are opened before the first request
 */
export async function openConnections(url: string, { ready }: { ready: number }) {
  const all = new Set<Client>()
  const free: Client[] = []

  function take(): Client {
    const client = free.pop() ?? new Client(url, { pipelining: 1, headersTimeout: ANSWERS_WITHIN_MS })
    all.add(client)
    return client
  }

  const ask: Ask = async (request) => {
    const client = take()
    try {
      const { statusCode, headers, body } = await client.request(request)
      return { statusCode, headers, text: await body.text() }
    } finally {
      free.push(client)
    }
  }

  await Promise.all(Array.from({ length: ready }, () => ask({ method: 'GET', path: '/healthz' })))
  return {
    ask,
    async close() {
      await Promise.all([...all].map((client) => client.destroy()))
    },
  }
}
