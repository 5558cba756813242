import { apiOf } from './support/api.ts'
import { expect, test } from './support/fixtures.ts'

test('the server is killed and comes back: the open page finds its way and the task finishes', async ({
  holdfast,
  openStudio,
  person,
}) => {
  const studio = await openStudio()
  const prompt = 'a windmill in a storm'
  await studio.generate(prompt)
  await expect(studio.card(prompt)).toHaveAttribute('data-status', 'running')
  await holdfast.kill()
  await expect(studio.panel).toHaveAttribute('data-connection', 'offline', { timeout: 30_000 })
  await expect(studio.card(prompt)).toBeVisible()

  await holdfast.restart()
  await studio.expectPicture(prompt)
  expect(await (await apiOf(holdfast, person)).messages()).toHaveLength(1)
})
