import { expect, it } from 'vitest'
import { type Bench, LONG_ENOUGH_MS, never } from './provider-world.ts'

/** How a create whose reply was lost is found again (F8). */
export function describeFinding({ world, setUp }: Bench): void {
  if (world.finds === true) {
    it('F8 a lost create is found again by its callback URL, and another is not taken for it', async () => {
      const { clock, provider, create, query, requestFor } = await setUp()
      const sentAtMs = clock.now
      const hook = 'https://us.example/v1/webhooks/x/secret-1'
      expect(await create('a cat', 'https://us.example/v1/webhooks/x/secret-2')).toMatchObject({
        kind: 'accepted',
      })
      expect(await create('a cat [lost]', hook)).toMatchObject({ kind: 'unknown' })
      const found = await provider.find?.({ ...requestFor('a cat [lost]', hook), sentAtMs }, never)
      expect(found).toMatchObject({ kind: 'found' })
      const id = found?.kind === 'found' ? found.externalId : ''
      clock.now += LONG_ENOUGH_MS
      expect(await query(id)).toMatchObject({ kind: 'succeeded' })
    })

    it('F8 a create that never arrived is absent, or nothing is claimed', async () => {
      const { clock, provider, create, requestFor } = await setUp()
      const hook = 'https://us.example/v1/webhooks/x/secret-1'
      const sentAtMs = clock.now
      await create('a cat', 'https://us.example/v1/webhooks/x/secret-2')
      expect(await create('a cat [dropped]', hook)).toMatchObject({ kind: 'unknown' })
      clock.now += LONG_ENOUGH_MS
      const request = { ...requestFor('a cat [dropped]', hook), sentAtMs }
      expect(['absent', 'inconclusive']).toContain((await provider.find?.(request, never))?.kind)
      expect(await provider.find?.(request, AbortSignal.abort())).toMatchObject({ kind: 'inconclusive' })
    })
  } else if (world.finds === false) {
    it('F8 has no find, and does not pretend to', async () => {
      expect((await setUp()).provider.find).toBeUndefined()
    })
  }
}
