import type { Sql } from '../src/database/connect.ts'

/** A task that a user asked for that long ago: its id, which begins with the time, says so too. */
export async function askedFor(sql: Sql, userId: string, agoMs: number): Promise<void> {
  await sql`
    insert into holdfast.tasks (id, user_id, type, provider, created_at)
    select overlay(holdfast.new_id()::text placing left(hex, 8) || '-' || right(hex, 4) from 1 for 13)::uuid,
      ${userId}, 'image', 'nobody', at
    from (select now() - ${agoMs}::float8 * interval '1 ms' as at) t,
      lateral (select lpad(to_hex((extract(epoch from at) * 1000)::bigint), 12, '0') as hex) h
  `
}
