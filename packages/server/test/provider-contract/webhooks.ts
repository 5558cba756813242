import fc from 'fast-check'
import { expect, it } from 'vitest'
import { type Bench, LONG_ENOUGH_MS } from './provider-world.ts'

/** What webhooks are taken for (S2). */
export function describeWebhooks({ world, setUp, receive }: Bench): void {
  const { webhooks } = world
  if (!webhooks) {
    it('reads no webhooks, since the vendor sends none', async () => {
      expect((await setUp()).provider.readWebhook).toBeUndefined()
    })
    return
  }

  /** What the webhooks of a task with these words are taken for. */
  async function readingsOf(words: string) {
    const { clock, simulator, provider, accepted } = await setUp()
    const hook = await receive(provider, () => clock.now)
    const id = await accepted(`a cat ${words}`, hook.url)
    const beforeReply = [...hook.readings]
    clock.now += LONG_ENOUGH_MS
    await simulator.sendWebhooks()
    return { id, beforeReply, readings: hook.readings }
  }

  it.each(['', '[fail]'])('a webhook at the end (%s) is about its task', async (words) => {
    const { id, readings } = await readingsOf(words)
    expect(readings.length).toBeGreaterThan(0)
    for (const reading of readings) expect(reading).toMatchObject({ kind: 'about', externalId: id })
  })

  it('a webhook sent twice is known by its delivery, where the vendor names it', async () => {
    const { readings } = await readingsOf('[hook-twice]')
    const ids = readings.map((reading) => (reading.kind === 'about' ? reading.deliveryId : 'none'))
    if (webhooks.namesDeliveries) expect(new Set(ids).size).toBe(ids.length / 2)
    // Then each is looked at; what is sent again has been signed anew.
    else expect(ids).not.toContain('none')
  })

  it('a webhook before the create is answered names the same id', async () => {
    const { id, beforeReply } = await readingsOf('[hook-early]')
    expect(beforeReply).toMatchObject([{ kind: 'about', externalId: id }])
  })

  it('a late webhook is read like any other', async () => {
    const { id, readings } = await readingsOf('[hook-late:3]')
    expect(readings.at(-1)).toMatchObject({ kind: 'about', externalId: id })
  })

  if (webhooks.signs !== 'nothing') {
    it.each([
      ['hook-forged', 'forged'],
      ['hook-unsigned', 'forged'],
      ['hook-stale', 'stale'],
      ['hook-future', 'stale'],
      ['hook-altered', webhooks.signs === 'body' ? 'forged' : 'about'],
    ])('S2 webhooks with [%s] are %s', async (word, kind) => {
      const { readings } = await readingsOf(`[${word}]`)
      expect(readings.length).toBeGreaterThan(0)
      for (const reading of readings) expect(reading).toMatchObject({ kind })
    })
  }

  it('S2 no bytes and no headers make reading throw, and none of them are taken for a webhook', async () => {
    const { clock, provider } = await setUp()
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(
          fc.uint8Array(),
          fc.json().map((text) => new Uint8Array(Buffer.from(text))),
        ),
        fc.dictionary(fc.string(), fc.string()),
        async (body, headers) => {
          const reading = await provider.readWebhook?.({ body, headers, receivedAtMs: clock.now })
          expect(reading?.kind).toMatch(/^(irrelevant|forged|stale|unreadable)$/)
        },
      ),
      { numRuns: 100 },
    )
  })
}
