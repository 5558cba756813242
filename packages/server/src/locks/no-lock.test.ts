import { expect, it } from 'vitest'
import { describeAnyLock } from '../../test/lock-conformance.ts'
import { createNoLock } from './no-lock.ts'

describeAnyLock('no lock', createNoLock)

it('lets all replicas hold the same name side by side', async () => {
  const [one, other] = [createNoLock(), createNoLock()]
  const { signal } = new AbortController()
  const all = await Promise.all([
    one.acquire('a', signal),
    one.acquire('a', signal),
    other.acquire('a', signal),
  ])
  await all[0]?.release()
  expect(all.map((held) => held.lost.aborted)).toEqual([false, false, false])
})
