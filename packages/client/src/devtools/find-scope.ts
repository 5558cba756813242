import type { Scope } from '../accounts/scope.ts'
import type { Insight } from '../create-client.ts'

type Listing = Pick<Storage, 'length' | 'key' | 'getItem'>

/**
 * The names under which this client keeps things. It does not tell them, but its lease is in localStorage for
 * everyone to see: where the value is the one it sees, the key is the one it uses. Null: there is none (yet).
 */
export function findScope({ userId, session }: Insight, storage: Listing | null): Scope | null {
  if (userId === null || !session?.lease || !storage) return null
  const ending = `:${encodeURIComponent(userId)}:lease`
  const { owner, epoch, expiresAt } = session.lease
  const isSame = (value: unknown) => {
    const lease = value as Partial<typeof session.lease> | null
    return lease?.owner === owner && lease.epoch === epoch && lease.expiresAt === expiresAt
  }
  try {
    for (let index = 0; index < storage.length; index++) {
      const key = storage.key(index) ?? ''
      if (!key.startsWith('holdfast:') || !key.endsWith(ending)) continue
      if (!isSame(JSON.parse(storage.getItem(key) ?? 'null'))) continue
      return { app: key.slice(0, -ending.length), user: key.slice(0, -':lease'.length) }
    }
  } catch {
    // Blocked, or somebody else's value under such a name: as if there was none.
  }
  return null
}
