import { apiOf } from './support/api.ts'
import { expect, test } from './support/fixtures.ts'

test('F4: submit, progress, picture, and exactly one message', async ({ holdfast, openStudio, person }) => {
  const studio = await openStudio()
  await studio.generate('a lighthouse at dawn')
  await expect(studio.progress('a lighthouse at dawn')).toBeVisible()
  await expect(studio.page.getByRole('textbox', { name: 'Prompt' })).toHaveValue('')
  await studio.expectPicture('a lighthouse at dawn')

  const messages = await (await apiOf(holdfast, person)).messages()
  expect(messages).toHaveLength(1)
  expect(messages[0]).toMatchObject({ role: 'assistant', content: 'a lighthouse at dawn' })
})

test('a video reports its progress and can be played', async ({ openStudio }) => {
  const studio = await openStudio()
  await studio.generate('[fast] waves on a beach', 'Video')
  const video = studio.card('[fast] waves on a beach').locator('video')
  await expect(video).toBeVisible({ timeout: 40_000 })
  await expect.poll(() => video.evaluate((element: HTMLVideoElement) => element.duration)).toBeGreaterThan(1)
})

test('a failure explains itself, and a retry takes its place', async ({ openStudio }) => {
  const studio = await openStudio()
  await studio.generate('[fail] a broken vase')
  const card = studio.card('[fail] a broken vase')
  const retry = card.getByRole('button', { name: /retry|try again/i })
  await expect(retry).toBeVisible({ timeout: 30_000 })
  await expect(card).toContainText(/PROVIDER_FAILED/)
  const failed = await studio.taskId('[fail] a broken vase')
  await retry.click()
  await expect.poll(() => studio.taskId('[fail] a broken vase')).not.toBe(failed)
  await expect(card).toHaveCount(1)
})

test('Q9: a running task can be cancelled', async ({ holdfast, openStudio, person }) => {
  const studio = await openStudio()
  await studio.generate('[slow] a very long road')
  await studio.card('[slow] a very long road').getByRole('button', { name: 'Cancel' }).click()
  await expect(studio.card('[slow] a very long road')).toContainText(/cancelled/i)
  const [task] = await (await apiOf(holdfast, person)).tasks()
  expect(task?.status).toBe('cancelled')
})

test('F16: many run at once, and the input is free at once', async ({ openStudio }) => {
  const studio = await openStudio()
  const prompts = ['one red kite', 'two red kites', 'three red kites']
  for (const prompt of prompts) await studio.generate(prompt)
  for (const prompt of prompts) await studio.expectPicture(prompt)
})
