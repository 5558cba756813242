import { apiOf } from './support/api.ts'
import { expect, test } from './support/fixtures.ts'

test('F4: finished with nobody online, the result and its unread mark are there', async ({
  holdfast,
  openStudio,
  person,
}) => {
  const studio = await openStudio()
  const prompt = 'a field of lavender'
  await studio.generate(prompt)
  await studio.page.close()
  const api = await apiOf(holdfast, person)
  await expect.poll(async () => (await api.tasks())[0]?.status, { timeout: 55_000 }).toBe('completed')

  const { conversations } = await (await api.get('/v1/conversations')).json()
  expect(conversations[0].unread).toBe(1)
  const later = await openStudio()
  await later.expectPicture(prompt)
})

test('S2: another person sees nothing and gets 404 by id', async ({
  browser,
  holdfast,
  openStudio,
  person,
}) => {
  const studio = await openStudio()
  const prompt = 'a secret garden'
  await studio.generate(prompt)
  const id = await studio.taskId(prompt)

  const stranger = await openStudio({ context: await browser.newContext(), as: `Not ${person}` })
  await expect(stranger.page.getByRole('textbox', { name: 'Prompt' })).toBeVisible()
  await expect(stranger.page.getByRole('article')).toHaveCount(0)
  const api = await apiOf(holdfast, `Not ${person}`)
  expect((await api.get(`/v1/tasks/${id}`)).status).toBe(404)
  expect(await api.tasks()).toEqual([])
})

test('F8: the answer to a submit is lost; it is sent again by itself and makes no second task', async ({
  holdfast,
  openStudio,
  person,
}) => {
  const studio = await openStudio()
  const prompt = '[slow] a letter in a bottle'
  // A switch instead of an unroute, which would take requests out of the hands of those who are about to cut them.
  let areAnswersLost = true
  const lost: Promise<void>[] = []
  await studio.page.route('**/v1/tasks', async (route) => {
    if (!areAnswersLost) return route.continue()
    const cut = route.fetch().then(() => route.abort('connectionreset'))
    lost.push(cut)
    await cut
  })
  await studio.page.getByRole('textbox', { name: 'Prompt' }).fill(prompt)
  await studio.page.keyboard.press('Enter')
  // The wish is kept, so the input is free, and the card is there.
  await expect(studio.page.getByRole('textbox', { name: 'Prompt' })).toHaveValue('')
  await expect(studio.card(prompt)).toBeVisible()
  // The stream may tell of the task before its answer is cut.
  await expect.poll(() => lost.length).toBeGreaterThan(0)
  await lost[0]
  areAnswersLost = false
  await expect(studio.card(prompt).getByRole('button', { name: 'Cancel' })).toBeVisible({ timeout: 40_000 })
  await expect(studio.card(prompt)).toHaveCount(1)
  await expect(studio.card(prompt)).toHaveAttribute('data-origin', 'this-tab')
  await Promise.all(lost)
  expect(await (await apiOf(holdfast, person)).tasks()).toHaveLength(1)
})
