import { apiOf } from '../support/api.ts'
import { expect, test } from './fixtures.ts'

test('C3, F5: both tabs follow, over one stream', async ({ finish, holdfast, openTab, person }) => {
  const { userId } = await apiOf(holdfast, person)
  const first = await openTab()
  const second = await openTab()
  const prompt = '[stuck] a train through the snow'
  await first.generate(prompt)
  await second.expectCard(prompt, { count: 1, hasProgress: true, origin: 'other-tab' })
  await first.expectCard(prompt, { origin: 'this-tab' })
  expect(holdfast.openStreams(userId)).toBe(1)

  await finish()
  await first.expectPicture(prompt)
  await second.expectPicture(prompt)
  expect(holdfast.openStreams(userId)).toBe(1)
})

test('F5: closing the leading tab hands over', async ({ finish, holdfast, openTab, person }) => {
  const { userId } = await apiOf(holdfast, person)
  const first = await openTab()
  await first.expectConnection('push')
  const second = await openTab()
  await second.expectConnection('follower')
  const prompt = '[stuck] a raft on a river'
  await first.generate(prompt)
  await first.tab.close()

  await second.expectConnection('push')
  await finish()
  await second.expectPicture(prompt)
  await expect.poll(() => holdfast.openStreams(userId)).toBe(1)
})
