import type { Sql } from '../../database/connect.ts'
import { eventsOf, type WebhookEndpoint } from './endpoint.ts'

/**
 * Lets the database know who wants to hear what, so that each event is noted in the transaction that makes it happen.
 * Said again from time to time: an endpoint is forgotten when servers have been running for long without naming it.
 */
export async function registerEndpoints(sql: Sql, endpoints: readonly WebhookEndpoint[]): Promise<void> {
  for (const endpoint of endpoints) {
    await sql`select holdfast.register_endpoint(${endpoint.name}, ${eventsOf(endpoint) as string[]})`
  }
}
