import { test } from './fixtures.ts'

test('F2: reloaded half-way without a network, the card is there; with it, the task goes on', async ({
  finish,
  network,
  openTab,
}) => {
  const studio = await openTab({ url: network.url })
  const prompt = '[stuck] a harbour in the rain'
  await studio.generate(prompt)
  await studio.expectCard(prompt, { status: 'running', hasProgress: true })

  network.cut('/v1/')
  await studio.tab.reload()
  await studio.expectCard(prompt, { count: 1, hasProgress: true, isStale: true })

  network.restore()
  await studio.expectCard(prompt, { isStale: false })
  await finish()
  await studio.expectPicture(prompt)
})

test('F2: reloaded again and again, it is one task, still this tab’s, and goes on', async ({
  finish,
  openTab,
}) => {
  const studio = await openTab()
  const prompt = '[stuck] a ferry in the fog'
  await studio.generate(prompt)
  for (let times = 0; times < 3; times++) {
    await studio.tab.reload()
    await studio.expectCard(prompt, { count: 1, origin: 'this-tab', isStale: false })
  }
  await finish()
  await studio.expectPicture(prompt)
})
