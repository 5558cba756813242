import type { Sql } from '../database/connect.ts'
import { eventsOf, type WebhookEndpoint } from './endpoint.ts'

/**
 * Lets the database know who wants to hear what, so that each event is noted in the transaction that makes it happen.
 * Said again from time to time: an endpoint that no server has in its settings any more is forgotten after a day, and
 * not at once, because a server that is started without them must not take them from the others.
 */
export async function registerEndpoints(sql: Sql, endpoints: readonly WebhookEndpoint[]): Promise<void> {
  // In one order, so that replicas that start together do not wait for each other in a circle.
  for (const endpoint of endpoints.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    await sql`
      insert into holdfast.webhook_endpoints (id, events) values (${endpoint.name}, ${eventsOf(endpoint) as string[]})
      on conflict (id) do update set events = excluded.events, seen_at = now()
    `
  }
}
