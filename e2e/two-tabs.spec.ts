import { apiOf } from './support/api.ts'
import { expect, test } from './support/fixtures.ts'

test('C3, F5: both tabs follow, over one stream', async ({ holdfast, openStudio, person }) => {
  const { userId } = await apiOf(holdfast, person)
  const first = await openStudio()
  const second = await openStudio()
  const prompt = '[slow] a train through the snow'
  await first.generate(prompt)
  await expect(second.progress(prompt)).toBeVisible()
  await expect(second.card(prompt)).toHaveAttribute('data-origin', 'other-tab')
  await expect(first.card(prompt)).toHaveAttribute('data-origin', 'this-tab')
  expect(holdfast.openStreams(userId)).toBe(1)

  await first.expectPicture(prompt)
  await second.expectPicture(prompt)
  expect(holdfast.openStreams(userId)).toBe(1)
})

test('F5: closing the leading tab hands over', async ({ holdfast, openStudio, person }) => {
  const { userId } = await apiOf(holdfast, person)
  const first = await openStudio()
  await expect(first.panel).toHaveAttribute('data-connection', 'push')
  const second = await openStudio()
  await expect(second.panel).toHaveAttribute('data-connection', 'follower')
  const prompt = 'a raft on a river'
  await first.generate(prompt)
  await first.page.close()
  await expect(second.panel).toHaveAttribute('data-connection', 'push')
  await second.expectPicture(prompt)
  await expect.poll(() => holdfast.openStreams(userId)).toBe(1)
})

test('logging out in one tab logs the other out', async ({ openStudio }) => {
  const first = await openStudio()
  const second = await openStudio()
  await first.logOut()
  await expect(second.page.getByRole('heading', { name: 'Who are you today?' })).toBeVisible()
})
