import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { CreateOutcome } from '../../src/providers/provider.ts'
import type { Bench } from './provider-world.ts'

/** How a create ends at most vendors, by the words in its prompt. */
const COMMON_CREATES: Record<string, Partial<CreateOutcome>> = {
  refuse: { kind: 'refused', code: 'SUBMIT_REFUSED', retryable: false },
  'code:400': { kind: 'refused', code: 'SUBMIT_REFUSED', retryable: false },
  'code:401': { kind: 'refused', code: 'PROVIDER_AUTH', retryable: false },
  'code:402': { kind: 'refused', code: 'PROVIDER_QUOTA', retryable: false },
  'code:403': { kind: 'refused', code: 'PROVIDER_AUTH', retryable: false },
  'code:404': { kind: 'refused', code: 'SUBMIT_REFUSED', retryable: false },
  'code:408': { kind: 'unknown' },
  'code:500': { kind: 'unknown' },
  'code:502': { kind: 'unknown' },
  'code:503': { kind: 'unknown' },
  'busy-seconds': { kind: 'not-accepted', retryAfterMs: 1_000 },
  'busy-date': { kind: 'not-accepted', retryAfterMs: 1_000 },
}

/** A busy machine may take its time. */
const patiently = { timeout: 15_000 }

/** What becomes of creates (F8, E3). */
export function describeCreating({ world, setUp }: Bench): void {
  it.each(Object.entries({ ...COMMON_CREATES, ...world.creates }))(
    'F8 a create with [%s] makes no task: %j',
    async (word, ending) => {
      const { simulator, create } = await setUp()
      const outcome = await create(`a cat [${word}]`)
      expect(outcome).toMatchObject(ending)
      if (outcome.kind === 'refused') expect(outcome.message).toMatch(/\w.*\.$/)
      expect(simulator.creates()).toBe(0)
    },
  )

  it('E3 a rate limit without advice is waited out, and the create is accepted when sent again', async () => {
    const { simulator, create } = await setUp()
    for (let times = 0; times < 2; times++) {
      const outcome = await create('a cat [busy:2]')
      expect(outcome).toMatchObject({ kind: 'not-accepted' })
      expect(outcome.kind === 'not-accepted' && outcome.retryAfterMs).toBeGreaterThan(0)
    }
    expect(await create('a cat [busy:2]')).toMatchObject({ kind: 'accepted' })
    expect(simulator.creates()).toBe(1)
  })

  it.each(['lost', 'hang', 'html-create', 'garbage-create'])(
    'F8 a create with [%s] is unknown, though the task exists, and is sent once',
    async (word) => {
      const { simulator, create } = await setUp({ limits: { callTimeoutMs: 1_500 } })
      expect(await create(`a cat [${word}]`)).toMatchObject({ kind: 'unknown' })
      expect(simulator.creates()).toBe(1)
      expect(simulator.requests()).toHaveLength(1)
    },
  )

  it('F8 a create that was cut before it was taken is unknown as well: nobody can tell', async () => {
    const { simulator, create } = await setUp()
    expect(await create('a cat [dropped]')).toMatchObject({ kind: 'unknown' })
    expect(simulator.creates()).toBe(0)
  })

  it('F8 whatever goes wrong, one create is sent once and never throws', async () => {
    const { simulator, create } = await setUp({ limits: { callTimeoutMs: 300 } })
    const words = [
      'lost',
      'dropped',
      'refuse',
      'busy',
      'html-create',
      'garbage-create',
      'code:500',
      'hook-none',
    ]
    await fc.assert(
      fc.asyncProperty(fc.subarray(words), fc.string({ maxLength: 20 }), async (chosen, text) => {
        const before = simulator.requests().length
        const outcome = await create(`${text} cat ${chosen.map((word) => `[${word}]`).join(' ')}`)
        expect(simulator.requests().length - before).toBe(1)
        expect(outcome.kind).toMatch(/^(accepted|refused|not-accepted|unknown)$/)
      }),
      { numRuns: 30 },
    )
  })

  it('F8 a create stopped before it was sent was not accepted; stopped later it is unknown', async () => {
    const { simulator, create } = await setUp()
    expect(await create('a cat', undefined, AbortSignal.abort())).toMatchObject({ kind: 'not-accepted' })
    expect(simulator.requests()).toEqual([])
    const stop = new AbortController()
    const hanging = create('a cat [hang]', undefined, stop.signal)
    await expect.poll(() => simulator.creates(), patiently).toBe(1)
    stop.abort()
    expect(await hanging).toMatchObject({ kind: 'unknown' })
  })
}
