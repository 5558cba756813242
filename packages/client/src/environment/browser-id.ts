import { randomId } from './random-id.ts'

/** The same in every tab of this browser, where storage allows; it names no user. */
export function browserId(storage: Pick<Storage, 'getItem' | 'setItem'> | null, app: string): string {
  const key = `${app}:browser`
  const fresh = randomId()
  try {
    const known = storage?.getItem(key)
    if (known) return known
    storage?.setItem(key, fresh)
  } catch {
    // Blocked: an id per connection does no harm, the Web Lock already keeps it to one stream.
  }
  return fresh
}
