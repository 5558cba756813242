import { expect, it } from 'vitest'
import { describeHot } from '../../test/hot-conformance.ts'
import { createMemoryHot } from './memory-hot.ts'

describeHot('the hot store in memory', (ttlMs) => createMemoryHot({ ttlMs }))

it('what it returns does not change under the reader’s hands', async () => {
  const hot = createMemoryHot()
  await hot.write([{ userId: 'ada', taskId: 'a', progress: 1 }])
  const before = await hot.read('ada')
  await hot.write([{ userId: 'ada', taskId: 'a', progress: 2 }])
  expect(before).toEqual(new Map([['a', 1]]))
})
