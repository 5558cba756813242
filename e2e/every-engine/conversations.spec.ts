import { apiOf } from '../support/api.ts'
import { expect, test } from './fixtures.ts'

const UNREAD = { list: ['1 unread'], title: '(1) Holdfast Studio' }
const READ = { list: [], title: 'Holdfast Studio' }
/** Longer than a stream or a channel takes, shorter than anything that asks again. */
const SOON = { timeout: 1_000, intervals: [20] }

test('read in one tab, the badge is gone in the other tab and on the other device', async ({
  finish,
  openDevice,
  openTab,
}) => {
  const first = await openTab()
  const second = await openTab()
  const elsewhere = await openTab({ on: await openDevice() })
  await first.expectConnection('push')
  await second.expectConnection('follower')
  await elsewhere.expectConnection('push')
  await first.generate('[stuck] a lantern on a quay')
  const place = await first.place()
  // Nobody looks at it when it is done.
  for (const studio of [first, second, elsewhere]) await studio.goToPlace('#/new')
  await finish()
  for (const studio of [first, second, elsewhere]) await expect.poll(() => studio.badge()).toEqual(UNREAD)

  await second.goToPlace(place)
  await expect.poll(() => second.badge()).toEqual(READ)
  await expect.poll(() => first.badge(), SOON).toEqual(READ)
  await expect.poll(() => elsewhere.badge(), SOON).toEqual(READ)
})

test('a first submit without a network is sent when it is back: one conversation, one task', async ({
  holdfast,
  network,
  openTab,
  person,
}) => {
  const studio = await openTab({ url: network.url })
  await studio.expectConnection('push')
  network.cut('/v1/')
  const prompt = '[stuck] a first sail'
  await studio.generate(prompt)
  await studio.expectCard(prompt, { count: 1, isUnsent: true, origin: 'this-tab' })
  expect(await studio.conversations()).toEqual([prompt])
  await studio.tab.reload()
  await studio.expectCard(prompt, { count: 1, isUnsent: true, origin: 'this-tab' })

  network.restore()
  await studio.expectCard(prompt, { count: 1, canBeCancelled: true })
  const api = await apiOf(holdfast, person)
  const [task] = await api.tasks()
  expect(await api.tasks()).toHaveLength(1)
  expect(await api.conversations()).toMatchObject([{ id: task?.conversationId, title: prompt }])
  expect(await studio.conversations()).toEqual([prompt])
})
