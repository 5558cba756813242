import { expect, it } from 'vitest'
import { type Bench, LONG_ENOUGH_MS } from './provider-world.ts'

/** A busy machine may take its time. */
const patiently = { timeout: 15_000 }

/** What polls learn (P4, E3). */
export function describePolling({ world, setUp }: Bench): void {
  it('P4 progress rises and stays within 0 and 100', async () => {
    const { clock, accepted, query } = await setUp()
    const id = await accepted('waves')
    const seen: (number | null)[] = []
    for (;;) {
      const outcome = await query(id)
      if (outcome.kind !== 'running') break
      seen.push(outcome.progress)
      clock.now += 500
    }
    const told = seen.filter((progress) => progress !== null)
    expect(told).toEqual(told.toSorted((a, b) => a - b))
    for (const progress of told) expect(progress >= 0 && progress <= 100).toBe(true)
    expect(told.length > 0).toBe(world.tellsProgress)
  })

  it('P4 a status that is not documented is running, and is logged once', async () => {
    const { clock, accepted, query, lines } = await setUp()
    const id = await accepted('a cat [unknown-state]')
    // Past the queue and before the end, for images and for videos.
    clock.now += 6_000
    for (let poll = 0; poll < 3; poll++) expect(await query(id)).toMatchObject({ kind: 'running' })
    expect(lines.filter((line) => line.includes('post_processing'))).toHaveLength(1)
    clock.now += LONG_ENOUGH_MS
    expect(await query(id)).toMatchObject({ kind: 'succeeded' })
  })

  it.each(
    Object.entries({
      fail: { kind: 'failed', code: 'PROVIDER_FAILED', retryable: true },
      nsfw: { kind: 'failed', code: 'CONTENT_REFUSED', retryable: false },
      vanish: { kind: 'not-found' },
      ...world.endings,
    }),
  )('P4 [%s] ends as %j', async (word, ending) => {
    const { clock, accepted, query } = await setUp()
    const id = await accepted(`a cat [${word}]`)
    expect(await query(id)).toMatchObject({ kind: 'running' })
    clock.now += LONG_ENOUGH_MS
    const outcome = await query(id)
    expect(outcome).toMatchObject(ending)
    if (outcome.kind === 'failed') expect(outcome.message).toMatch(/\w.*\.$/)
  })

  it.each([
    ['429', 1_000],
    ['429-date', 1_000],
    ['429-bare', null],
  ])('E3 polls limited with [%s] learn nothing, wait as told, and go on', async (word, waitMs) => {
    const { accepted, query } = await setUp()
    const id = await accepted(`a cat [${word}:2]`)
    for (let poll = 0; poll < 2; poll++) {
      const outcome = await query(id)
      expect(outcome).toMatchObject({ kind: 'inconclusive' })
      const told = outcome.kind === 'inconclusive' ? outcome.retryAfterMs : null
      if (waitMs !== null) expect(told).toBe(waitMs)
      else expect(told === null || told > 0).toBe(true)
    }
    expect(await query(id)).toMatchObject({ kind: 'running' })
  })

  it.each(['500', 'html', 'garbage', 'cut'])('P4 polls with [%s] learn nothing', async (word) => {
    const { accepted, query } = await setUp()
    const id = await accepted(`a cat [${word}:2]`)
    expect(await query(id)).toMatchObject({ kind: 'inconclusive' })
    expect(await query(id)).toMatchObject({ kind: 'inconclusive' })
    expect(await query(id)).toMatchObject({ kind: 'running' })
  })

  it('P4 a poll without an answer ends at the time limit and learned nothing', async () => {
    const { accepted, query } = await setUp({ limits: { callTimeoutMs: 1_500 } })
    const id = await accepted('a cat [hang-polls:1]')
    expect(await query(id)).toMatchObject({ kind: 'inconclusive' })
    expect(await query(id)).toMatchObject({ kind: 'running' })
  })

  it('P4 what is not visible yet is not found, and then is', async () => {
    const { provider, accepted, query } = await setUp()
    const id = await accepted('a cat [hidden:2]')
    expect(await query(id)).toEqual({ kind: 'not-found' })
    expect(await query(id)).toEqual({ kind: 'not-found' })
    expect(await query(id)).toMatchObject({ kind: 'running' })
    expect(provider.limits.notFoundGraceMs).toBeGreaterThanOrEqual(10_000)
  })

  it('P4 ids that nobody gave out are not found or nothing, never an exception', async () => {
    const { query } = await setUp()
    for (const id of ['nobody', 'ünknown & odd/?#\ud800', '..', '../../etc/passwd', 'a:b', '%2e%2e', '']) {
      expect(['not-found', 'inconclusive']).toContain((await query(id)).kind)
    }
  })

  it('F8 P4 with the vendor away, a create was not accepted and a query learned nothing', async () => {
    const { simulator, create, query, accepted } = await setUp()
    const id = await accepted('a cat')
    await simulator.close()
    expect(await create('a cat')).toMatchObject({ kind: 'not-accepted', retryAfterMs: null })
    expect(await query(id)).toMatchObject({ kind: 'inconclusive', retryAfterMs: null })
  })

  it('P4 a poll that is stopped learned nothing', async () => {
    const { simulator, accepted, query } = await setUp()
    const id = await accepted('a cat [hang-polls:9]')
    expect(await query(id, AbortSignal.abort())).toMatchObject({ kind: 'inconclusive' })
    const stop = new AbortController()
    const hanging = query(id, stop.signal)
    await expect.poll(() => simulator.requests().length, patiently).toBe(2)
    stop.abort()
    expect(await hanging).toMatchObject({ kind: 'inconclusive' })
  })
}
