import { expect, it } from 'vitest'
import { API_KEY, type Bench, LONG_ENOUGH_MS, never } from './provider-world.ts'

/** What comes of results, of cancelling and of keys (P4, Q9, S3). */
export function describeResults({ world, setUp }: Bench): void {
  it('P4 a generation goes from running to a file that can be fetched', async () => {
    const { clock, accepted, query, download } = await setUp()
    const id = await accepted('a lighthouse')
    expect(await query(id)).toMatchObject({ kind: 'running' })
    clock.now += 4_000
    expect(await query(id)).toMatchObject({ kind: 'running' })
    clock.now += LONG_ENOUGH_MS
    const done = await query(id)
    expect(done).toMatchObject({ kind: 'succeeded', outputs: [{ urlLifetimeMs: world.urlLifetimeMs }] })
    const output = done.kind === 'succeeded' ? done.outputs[0] : undefined
    const file = await download(output?.url ?? '')
    expect(file.status).toBe(200)
    expect((await file.arrayBuffer()).byteLength).toBeGreaterThan(10_000)
    // A content type that is told must be right; one that cannot be known is not made up.
    expect([null, file.headers.get('content-type')]).toContain(output?.contentType)
  })

  it('P4 several results come in order', async () => {
    const { finished } = await setUp()
    const { outputs } = await finished('a cat [many:3]')
    expect(new Set(outputs.map(({ url }) => url)).size).toBe(outputs.length)
    const places = outputs.map(({ url }) => Number(/(\d)\.(?:png|mp4)/.exec(url)?.[1] ?? 0))
    expect(places).toEqual([0, 1, 2].slice(0, world.mostResults ?? places.length))
  })

  it('S3 a refused key is told without the key, on every call, and is not logged', async () => {
    const { provider, create, query, lines, requestFor } = await setUp({ simulatorKey: 'another-key' })
    const id = world.exampleId ?? 'task-1'
    const created = await create('a cat')
    const queried = await query(id)
    const said = [
      created,
      queried,
      await provider.cancel?.(id, never),
      await provider.refresh?.({ externalId: id, url: 'https://x.example/a.png', ordinal: 0 }, never),
      await provider.find?.({ ...requestFor('a cat', 'https://x.example/hook'), sentAtMs: 0 }, never),
    ]
    expect(created).toMatchObject({ kind: 'refused', code: 'PROVIDER_AUTH' })
    expect(queried).toMatchObject({ kind: 'inconclusive' })
    expect(JSON.stringify([said, lines])).not.toContain(API_KEY)
  })

  it('S3 calls say who we are', async () => {
    const { simulator, accepted, query } = await setUp()
    await query(await accepted('a cat'))
    for (const { userAgent } of simulator.requests()) expect(userAgent).toMatch(/Holdfast\/\d/)
  })

  it('S3 the key goes to no other origin with a result', async () => {
    const { provider } = await setUp()
    for (const url of ['https://elsewhere.example/a.png', 'http://127.0.0.1:1/a.png', 'nonsense']) {
      expect(JSON.stringify(provider.sourceHeaders?.(url) ?? {})).not.toContain(API_KEY)
    }
  })

  it('closing twice is fine, and afterwards nothing is sent', async () => {
    const { provider, simulator, create, accepted, query } = await setUp()
    const id = await accepted('a cat')
    await Promise.all([provider.close(), provider.close()])
    await provider.close()
    expect(await create('a cat')).toMatchObject({ kind: 'not-accepted' })
    expect(await query(id)).toMatchObject({ kind: 'inconclusive' })
    expect(simulator.requests()).toHaveLength(1)
  })

  if (world.urlLifetimeMs !== null && !world.keepsFilesPrivate) {
    const lifetimeMs = world.urlLifetimeMs
    it('a result URL lasts as long as promised, then is dead', async () => {
      const { clock, finished, download } = await setUp()
      const { url } = await finished('a cat')
      clock.now += lifetimeMs - LONG_ENOUGH_MS
      expect((await download(url)).status).toBe(200)
      clock.now += 8 * 24 * 60 * 60_000
      expect([403, 404]).toContain((await download(url)).status)
    })
  }

  it(`a dead result URL: refresh is ${world.refresh}`, async () => {
    const { clock, provider, finished, download } = await setUp()
    const { id, url } = await finished('a cat')
    clock.now += 2 * 60 * 60_000
    const outcome = await provider.refresh?.({ externalId: id, url, ordinal: 0 }, never)
    expect(outcome?.kind ?? 'none').toBe(world.refresh)
    if (outcome?.kind === 'refreshed') expect((await download(outcome.url)).status).toBe(200)
  })

  if (world.cancel === 'none') {
    it('Q9 has no cancel, and does not pretend to', async () => {
      expect((await setUp()).provider.cancel).toBeUndefined()
    })
  } else {
    it('Q9 a running task is cancelled, a second time too, and polls say so', async () => {
      const { clock, provider, accepted, query } = await setUp()
      const id = await accepted('a cat')
      clock.now += 3_000
      expect(await provider.cancel?.(id, never)).toBe(true)
      clock.now += LONG_ENOUGH_MS
      expect(await query(id)).toEqual({ kind: 'cancelled' })
      await expect(provider.cancel?.(id, never)).resolves.toBeTypeOf('boolean')
    })

    it('Q9 cancelling what is finished leaves its result alone, or is refused; the vendor away is no', async () => {
      const { provider, simulator, finished } = await setUp()
      const { id } = await finished('a cat')
      await expect(provider.cancel?.(id, never)).resolves.toBeTypeOf('boolean')
      expect(await provider.cancel?.(id, AbortSignal.abort())).toBe(false)
      await simulator.close()
      expect(await provider.cancel?.(id, never)).toBe(false)
    })
  }
}
