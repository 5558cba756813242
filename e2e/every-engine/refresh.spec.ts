import { test } from './fixtures.ts'

test('F2: reloaded half-way without a network, the card is there; with it, the task goes on', async ({
  network,
  openTab,
}) => {
  const studio = await openTab({ url: network.url })
  const prompt = 'a harbour in the rain'
  await studio.generate(prompt)
  await studio.expectCard(prompt, { hasProgress: true })

  network.cut('/v1/')
  await studio.tab.reload()
  await studio.expectCard(prompt, { count: 1, isStale: true })

  network.restore()
  await studio.expectPicture(prompt)
})

test('F2: reloaded half-way again and again, it is one task and goes on', async ({ openTab }) => {
  const studio = await openTab()
  const prompt = 'a ferry in the fog'
  await studio.generate(prompt)
  for (let times = 0; times < 3; times++) {
    await studio.tab.reload()
    await studio.expectCard(prompt, { count: 1, origin: 'this-tab', isStale: false })
  }
  await studio.expectPicture(prompt)
})
