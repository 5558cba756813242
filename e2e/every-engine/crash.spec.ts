import { apiOf } from '../support/api.ts'
import { expect, test } from './fixtures.ts'

test('a crashed tab loses nothing', async ({ finish, holdfast, openTab, person }) => {
  const studio = await openTab()
  const prompt = '[stuck] a kite above the dunes'
  await studio.generate(prompt)
  await studio.tab.crash()

  const again = await openTab()
  // The same browser: it knows that it made the task.
  await again.expectCard(prompt, { count: 1, hasProgress: true, origin: 'other-tab' })
  await finish()
  await again.expectPicture(prompt)
  expect(await (await apiOf(holdfast, person)).tasks()).toHaveLength(1)
})

test('F5: the leading tab crashes, and the other takes over', async ({
  finish,
  holdfast,
  openTab,
  person,
}) => {
  const { userId } = await apiOf(holdfast, person)
  const first = await openTab()
  await first.expectConnection('push')
  const second = await openTab()
  await second.expectConnection('follower')
  const prompt = '[stuck] a tent in the wind'
  await first.generate(prompt)
  await first.tab.crash()

  await second.expectConnection('push')
  await finish()
  await second.expectPicture(prompt)
  await expect.poll(() => holdfast.openStreams(userId)).toBe(1)
})
