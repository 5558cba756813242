import { apiOf } from '../support/api.ts'
import { expect, test } from './fixtures.ts'

test('the network goes away and comes back: the card stays, the tab says so, and the task finishes', async ({
  finish,
  holdfast,
  network,
  openTab,
  person,
}) => {
  const studio = await openTab({ url: network.url })
  const prompt = '[stuck] a lamp in a window'
  await studio.generate(prompt)
  await studio.expectCard(prompt, { status: 'running' })

  network.cut()
  await studio.expectConnection('offline')
  await studio.expectCard(prompt, { count: 1, status: 'running' })
  // Nobody is told, and it is done all the same.
  await finish()
  const api = await apiOf(holdfast, person)
  await expect.poll(async () => (await api.tasks())[0]?.status).toBe('completed')
  await studio.expectCard(prompt, { count: 1, hasPicture: false })

  network.restore()
  await studio.expectPicture(prompt)
  await studio.expectConnection('push')
  expect(await api.messages()).toHaveLength(1)
})

test('F8: submitted without a network, reloaded, and sent once when it is back', async ({
  holdfast,
  network,
  openTab,
  person,
}) => {
  const studio = await openTab({ url: network.url })
  await studio.generate('[stuck] a first boat')
  await studio.expectCard('[stuck] a first boat', { canBeCancelled: true })
  const prompt = '[stuck] a second boat'
  network.cut('/v1/')
  await studio.generate(prompt)
  await studio.expectCard(prompt, { isUnsent: true })
  await studio.tab.reload()
  await studio.expectCard(prompt, { origin: 'this-tab', isUnsent: true })

  network.restore()
  await studio.expectCard(prompt, { count: 1, canBeCancelled: true })
  expect(await (await apiOf(holdfast, person)).tasks()).toHaveLength(2)
})
