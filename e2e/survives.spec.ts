import { apiOf } from './support/api.ts'
import { expect, test } from './support/fixtures.ts'

test('F2: reloaded half-way without a network, the card is there; with it, the task goes on', async ({
  openStudio,
}) => {
  const studio = await openStudio()
  const prompt = 'a harbour in the rain'
  await studio.generate(prompt)
  await expect(studio.progress(prompt)).toBeVisible()

  await studio.page.route('**/v1/**', (route) => route.abort('connectionfailed'))
  await studio.page.reload()
  await expect(studio.card(prompt)).toBeVisible()
  await expect(studio.card(prompt)).toHaveAttribute('data-stale', 'true')

  await studio.page.unroute('**/v1/**')
  await studio.expectPicture(prompt)
})

test('F7: another device gets a placeholder, then the result, and there is one message', async ({
  browser,
  holdfast,
  openStudio,
  person,
}) => {
  const first = await openStudio()
  // Slow enough that the second device is there before it is done.
  const prompt = '[slow] a bridge over a fjord'
  await first.generate(prompt)

  const second = await openStudio({ context: await browser.newContext() })
  await expect(second.progress(prompt)).toBeVisible()
  await expect(second.card(prompt)).toHaveAttribute('data-origin', 'other-device')

  await first.expectPicture(prompt)
  await second.expectPicture(prompt)
  expect(await (await apiOf(holdfast, person)).messages()).toHaveLength(1)
})

test('F3: logged out and in again, the unfinished task is restored', async ({ openStudio, person }) => {
  const studio = await openStudio()
  const prompt = 'a garden behind a wall'
  await studio.generate(prompt)
  await studio.logOut()
  await expect(studio.card(prompt)).toHaveCount(0)
  await studio.signIn(person)
  await expect(studio.card(prompt)).toBeVisible()
  await studio.expectPicture(prompt)
})

test('a crashed tab loses nothing', async ({ context, openStudio }) => {
  const studio = await openStudio()
  const prompt = 'a kite above the dunes'
  await studio.generate(prompt)
  const session = await context.newCDPSession(studio.page)
  // The command is never answered: the page is gone.
  session.send('Page.crash').catch(() => {})
  await studio.page.waitForEvent('crash')

  const again = await openStudio()
  await again.expectPicture(prompt)
})

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
  const keys: (string | undefined)[] = []
  await studio.page.route('**/v1/tasks', async (route) => {
    keys.push(route.request().headers()['idempotency-key'])
    if (keys.length > 2) return route.continue()
    await route.fetch()
    await route.abort('connectionreset')
  })
  await studio.page.getByRole('textbox', { name: 'Prompt' }).fill(prompt)
  await studio.page.keyboard.press('Enter')
  // The wish is kept, so the input is free, and the card is there.
  await expect(studio.page.getByRole('textbox', { name: 'Prompt' })).toHaveValue('')
  await expect.poll(() => keys.length, { timeout: 30_000 }).toBe(3)
  expect(new Set(keys).size).toBe(1)
  await expect(studio.card(prompt)).toHaveCount(1)
  await expect(studio.card(prompt)).toHaveAttribute('data-origin', 'this-tab')
  expect(await (await apiOf(holdfast, person)).tasks()).toHaveLength(1)
})

test('F8: submitted without a network, reloaded, and sent once when it is back', async ({
  holdfast,
  openStudio,
  person,
}) => {
  const studio = await openStudio()
  await studio.generate('[slow] a first boat')
  const prompt = '[slow] a second boat'
  await studio.page.route('**/v1/tasks', (route) => route.abort('internetdisconnected'))
  await studio.generate(prompt)
  await expect(studio.card(prompt)).toContainText('to be sent')
  await studio.page.reload()
  await expect(studio.card(prompt)).toContainText('to be sent')
  await expect(studio.card(prompt)).toHaveAttribute('data-origin', 'this-tab')
  await studio.page.unroute('**/v1/tasks')
  await expect(studio.card(prompt).getByRole('button', { name: 'Cancel' })).toBeVisible({ timeout: 40_000 })
  await expect(studio.card(prompt)).toHaveCount(1)
  expect(await (await apiOf(holdfast, person)).tasks()).toHaveLength(2)
})

test('F3: after log-out and log-in in the same tab, the task is still this tab’s', async ({
  openStudio,
  person,
}) => {
  const studio = await openStudio()
  const prompt = '[slow] a well in the desert'
  await studio.generate(prompt)
  await expect(studio.card(prompt).getByRole('button', { name: 'Cancel' })).toBeVisible()
  await studio.logOut()
  await studio.signIn(person)
  await expect(studio.card(prompt)).toHaveAttribute('data-origin', 'this-tab')
})
