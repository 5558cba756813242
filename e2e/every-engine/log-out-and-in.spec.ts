import { expect, test } from './fixtures.ts'

test('F3: logged out and in again, the unfinished task is restored and still this tab’s', async ({
  finish,
  openTab,
  person,
}) => {
  const studio = await openTab()
  const prompt = '[stuck] a garden behind a wall'
  await studio.generate(prompt)
  await studio.expectCard(prompt, { canBeCancelled: true })
  await studio.logOut()
  await studio.expectCard(prompt, { count: 0 })
  await studio.signIn(person)
  await studio.expectCard(prompt, { count: 1, origin: 'this-tab' })
  await finish()
  await studio.expectPicture(prompt)
})

test('F3: logging out in one tab logs the other out, and in again, in again', async ({ openTab, person }) => {
  const first = await openTab()
  const second = await openTab()
  const prompt = '[stuck] a well in the desert'
  await first.generate(prompt)
  await second.expectCard(prompt, { count: 1 })
  await first.logOut()
  await expect.poll(() => second.isSignedOut()).toBe(true)
  await second.expectCard(prompt, { count: 0 })

  await second.signIn(person)
  await second.expectCard(prompt, { count: 1, origin: 'other-tab' })
  await expect.poll(() => first.isSignedIn()).toBe(true)
  await first.expectCard(prompt, { count: 1, origin: 'this-tab' })
})
