export interface KeptKeysOptions<Keys> {
  /** Null if they could not be had. */
  fetchKeys: () => Promise<Keys | null>
  now: () => number
  /** Keys are not used for longer. @default 24 h */
  maxAgeMs?: number
  /**
   * Never asked for more often than this, so that forged webhooks cannot make us hammer the vendor.
   * @default 1 minute
   */
  minRefetchMs?: number
}

/** Whether the vendor's keys made a signature; `no-keys` if that could not be found out. */
export type KeyCheck = 'genuine' | 'forged' | 'no-keys'

const DAY_MS = 24 * 60 * 60_000

/**
 * Keys that a vendor gives out over HTTP. They are kept, and asked for once more when they do not fit: that is how
 * new ones are learned.
 */
export function createKeptKeys<Keys>({
  fetchKeys,
  now,
  maxAgeMs = DAY_MS,
  minRefetchMs = 60_000,
}: KeptKeysOptions<Keys>): (fits: (keys: Keys) => boolean) => Promise<KeyCheck> {
  let kept: { keys: Keys; since: number } | undefined
  let askedAt = Number.NEGATIVE_INFINITY
  let asking: Promise<void> | undefined

  const ask = async () => {
    const keys = await fetchKeys()
    // No answer does not put out keys that still work.
    if (keys !== null) kept = { keys, since: now() }
  }
  /** False if it is too early to ask again. Whoever comes while it is being asked waits for the same answer. */
  const refetch = async (): Promise<boolean> => {
    if (!asking) {
      if (now() - askedAt < minRefetchMs) return false
      askedAt = now()
      asking = ask().finally(() => {
        asking = undefined
      })
    }
    await asking
    return true
  }
  const current = () => (kept && now() - kept.since < maxAgeMs ? kept.keys : undefined)

  return async (fits) => {
    if (current() === undefined) await refetch()
    const keys = current()
    if (keys === undefined) return 'no-keys'
    if (fits(keys)) return 'genuine'
    if (!(await refetch())) return 'forged'
    const fresh = current()
    return fresh !== undefined && fits(fresh) ? 'genuine' : 'forged'
  }
}
