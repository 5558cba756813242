import { describe, expect, it, vi } from 'vitest'
import { createMemoryLog } from '../../test/memory-log.ts'
import { createSignUrls } from './signed-urls.ts'

const LIFETIME_MS = 1_000_000

/** A store that signs as it is told to, and a clock that is moved by hand. */
function setUp({
  sign,
  waitMs,
}: {
  sign?: (keys: readonly string[]) => Promise<string[]>
  waitMs?: number
} = {}) {
  const clock = { now: 1_700_000_000_000 }
  const calls: (readonly string[])[] = []
  const { log, lines } = createMemoryLog()
  const signUrls = createSignUrls({
    objects: {
      async signUrls(keys, { expiresInMs }) {
        expect(expiresInMs).toBe(LIFETIME_MS)
        calls.push(keys)
        return sign ? sign(keys) : keys.map((key) => `https://files/${key}?signed=${calls.length}`)
      },
    },
    lifetimeMs: LIFETIME_MS,
    log,
    now: () => clock.now,
    ...(waitMs === undefined ? {} : { waitMs }),
  })
  const urlsOf = async (...keys: string[]) => {
    const signed = await signUrls(keys)
    return keys.map((key) => signed.get(key)?.url)
  }
  return { clock, calls, lines, signUrls, urlsOf }
}

describe('URLs of stored files', () => {
  it('are signed in one call for all that a reader needs, each key once', async () => {
    const { calls, signUrls } = setUp()
    const keys = Array.from({ length: 1_000 }, (_, index) => `key-${index}`)
    const signed = await signUrls([...keys, ...keys])
    expect(signed.size).toBe(1_000)
    expect(calls).toEqual([keys])
  })

  it('stay the same until half of their life is over, and live for the whole of it', async () => {
    const { clock, calls, signUrls, urlsOf } = setUp()
    const [first] = await urlsOf('a')
    const expiresAt = (await signUrls(['a'])).get('a')?.expiresAt
    expect(expiresAt).toEqual(new Date(clock.now + LIFETIME_MS))
    clock.now += LIFETIME_MS / 2 - 1
    expect(await urlsOf('a')).toEqual([first])
    expect(calls).toHaveLength(1)

    // From half-way on they are renewed, and nobody waits for that.
    clock.now += 1
    expect(await urlsOf('a')).toEqual([first])
    await vi.waitFor(async () => expect(await urlsOf('a')).toEqual(['https://files/a?signed=2']))
    expect((await signUrls(['a'])).get('a')?.expiresAt).toEqual(new Date(clock.now + LIFETIME_MS))
  })

  it('are the same for two who ask at the same time', async () => {
    const { calls, urlsOf } = setUp()
    const [mine, yours] = await Promise.all([urlsOf('a', 'b'), urlsOf('b', 'c')])
    expect(mine[1]).toBe(yours[0])
    expect(calls).toEqual([['a', 'b'], ['c']])
  })

  it('are missing while the store cannot sign, and the caller is told when to ask again', async () => {
    let isAway = true
    const { clock, calls, lines, signUrls, urlsOf } = setUp({
      sign: async (keys) => {
        if (isAway) throw new Error('away')
        return keys.map((key) => `https://files/${key}`)
      },
    })
    const before = clock.now
    expect((await signUrls(['a'])).get('a')).toEqual({ url: null, expiresAt: new Date(before + 10_000) })
    expect(lines.join('')).toContain('could not be signed')
    // Not asked again by every reader.
    expect(await urlsOf('a')).toEqual([null])
    expect(calls).toHaveLength(1)

    isAway = false
    clock.now += 10_000
    expect(await urlsOf('a')).toEqual(['https://files/a'])
  })

  it('stay what they were when they cannot be renewed, for as long as they work', async () => {
    let isAway = false
    const { clock, urlsOf } = setUp({
      sign: async (keys) => {
        if (isAway) throw new Error('away')
        return keys.map((key) => `https://files/${key}`)
      },
    })
    await urlsOf('a')
    isAway = true
    clock.now += LIFETIME_MS - 1
    expect(await urlsOf('a')).toEqual(['https://files/a'])
    clock.now += 10_001
    expect(await urlsOf('a')).toEqual([null])
  })

  it('do not hold a reader up when the store does not answer', async () => {
    const { urlsOf } = setUp({ sign: () => new Promise(() => {}), waitMs: 5 })
    expect(await urlsOf('a')).toEqual([null])
  })

  it('are forgotten, oldest first, when there are too many', async () => {
    const { calls, signUrls, urlsOf } = setUp()
    await urlsOf('oldest')
    await signUrls(Array.from({ length: 20_000 }, (_, index) => `key-${index}`))
    await urlsOf('key-1')
    expect(calls).toHaveLength(2)
    await urlsOf('oldest')
    expect(calls).toHaveLength(3)
  })
})
