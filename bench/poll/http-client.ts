import { Pool } from 'undici'

/**
 * Fifty connections without pipelining are what Holdfast's KIE adapter opens for queries. Everyone gets the same.
 */
export const CONNECTIONS = 50

const HEADERS = {
  authorization: 'Bearer bench-key',
  'content-type': 'application/json',
  accept: 'application/json',
  'user-agent': 'Mozilla/5.0 (compatible; holdfast)',
}

export function openPool(origin: string): Pool {
  return new Pool(origin, { connections: CONNECTIONS, pipelining: 1, allowH2: false })
}

/** One poll as everybody but Holdfast makes it; Holdfast goes through its own adapter, on the same kind of pool. */
export async function queryProvider(pool: Pool, externalId: string): Promise<string> {
  const { statusCode, body } = await pool.request({
    method: 'GET',
    path: `/api/v1/jobs/recordInfo?taskId=${externalId}`,
    headers: HEADERS,
  })
  const reply = JSON.parse(await body.text()) as { data: { state: string; taskId: string } }
  if (statusCode !== 200 || reply.data.taskId !== externalId || reply.data.state !== 'generating') {
    throw new Error(`The provider answered ${statusCode} about ${reply.data.taskId} to ${externalId}.`)
  }
  return reply.data.state
}
