import { apiOf } from './support/api.ts'
import { finishNewest } from './support/finish-newest.ts'
import { expect, test } from './support/fixtures.ts'
import { SERVICE_KEY } from './support/holdfast-process.ts'

test('a finish that the provider tells by webhook shows in the open tab', async ({
  holdfast,
  openStudio,
  person,
}) => {
  const studio = await openStudio()
  // It would take most of a minute, and be polled every few seconds.
  await studio.generate('[slow] a quiet harbour')
  const api = await apiOf(holdfast, person)
  await expect.poll(async () => (await api.tasks())[0]?.status).toBe('running')
  await finishNewest(holdfast)
  const toldAt = Date.now()
  await expect(studio.picture('[slow] a quiet harbour')).toBeVisible({ timeout: 20_000 })
  test.info().annotations.push({ type: 'from finish to picture', description: `${Date.now() - toldAt} ms` })
  const heard = holdfast.log.filter(
    ({ msg, route }) => msg === 'request' && route === '/v1/webhooks/:provider/:taskId/:secret',
  )
  expect(heard.length).toBeGreaterThan(0)
})

test('F7: a job that the app’s own backend started and handed over shows as a placeholder, then as its result', async ({
  holdfast,
  openStudio,
  person,
}) => {
  const studio = await openStudio()
  const { userId } = await apiOf(holdfast, person)
  const prompt = '[fast] a job from elsewhere'
  const created = (await (
    await fetch(`${holdfast.simulatorUrl}/api/v1/jobs/createTask`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: 'Bearer simulated-key' },
      body: JSON.stringify({ model: 'google/nano-banana', input: { prompt } }),
    })
  ).json()) as { data: { taskId: string } }

  const startedAt = new Date(Date.now() - 5 * 60_000).toISOString()
  const adopt = (headers: Record<string, string>) =>
    fetch(`${holdfast.url}/v1/tasks`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify({
        userId,
        type: 'image',
        params: { prompt },
        provider: 'kie',
        externalId: created.data.taskId,
        startedAt,
      }),
    })
  expect((await adopt({ authorization: `Bearer ${SERVICE_KEY}x` })).status).toBe(401)
  expect((await adopt({ authorization: `Bearer ${SERVICE_KEY}`, origin: holdfast.url })).status).toBe(403)
  const adopted = await adopt({ authorization: `Bearer ${SERVICE_KEY}` })
  expect(adopted.status).toBe(201)
  expect(((await adopted.json()) as { task: { startedAt: string } }).task.startedAt).toBe(startedAt)

  await studio.page.getByRole('link', { name: 'No conversation' }).click()
  await expect(studio.card(prompt)).toBeVisible()
  await studio.expectPicture(prompt)
})
