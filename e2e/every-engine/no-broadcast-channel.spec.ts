import { setTimeout as pause } from 'node:timers/promises'
import { placesOf } from '../support/stored.ts'
import { expect, test } from './fixtures.ts'

const WITHOUT = { without: 'BroadcastChannel' }

test('without BroadcastChannel one tab leads, and the tabs tell each other', async ({
  finish,
  holdfast,
  openPage,
  user,
}) => {
  const prompt = '[stuck] a rope between two towers'
  const first = await openPage(WITHOUT)
  await first.signIn(user)
  await first.expectState({ role: 'leader', connection: 'push' })
  const second = await openPage(WITHOUT)
  await second.signIn(user)
  await second.expectState({ role: 'follower', connection: 'follower', restore: 'confirmed' })

  // From the follower to the leader, and back what the leader hears from the server.
  await second.submit(prompt)
  await first.expectText(`${prompt}: running`)
  await second.expectText(`${prompt}: running`)
  await finish()
  await first.expectText(`${prompt}: completed`)
  await second.expectText(`${prompt}: completed`)
  expect(holdfast.openStreams(user.userId)).toBe(1)

  const traces = [prompt, ...(await user.tasks()).map(({ id }) => id)]
  await second.logOut()
  await first.expectState({ userId: null, tasks: {} })
  await pause(500)
  for (const page of [first, second]) expect(placesOf(traces, await page.stored())).toEqual([])
})
