import { deafen, goAway, goBack, pretendToComeBack } from '../support/away-and-back.ts'
import { placesOf, readStored } from '../support/stored.ts'
import { StudioTab } from '../support/studio-tab.ts'
import { expect, test } from './fixtures.ts'

const PROMPT = '[stuck] a diary with a lock'

/** On the screen or kept. */
const placesIn = async ({ tab }: StudioTab) => placesOf([PROMPT], await tab.evaluate(readStored, null))

test('logged out in one tab, the others show the sign-in screen: one at once, one when it comes back', async ({
  engineName,
  openTab,
}) => {
  const away = await openTab()
  await away.generate(PROMPT)
  const here = await openTab()
  const other = await openTab()
  await here.expectCard(PROMPT, { count: 1 })
  await away.tab.evaluate(() => void Object.assign(window, { sameDocument: true }), null)
  await goAway(away.tab, '/favicon.svg')
  await other.logOut()
  await expect.poll(() => here.isSignedOut(), { timeout: 5_000 }).toBe(true)

  await goBack(away.tab, '/')
  await expect.poll(() => away.isSignedOut()).toBe(true)
  for (const studio of [here, other, away]) expect(await placesIn(studio)).toEqual([])
  // The others have let go of the page by then, and load it anew: Chromium for the message, Firefox for the lock.
  const isRestored = await away.tab.evaluate(() => 'sameDocument' in window, null)
  if (engineName !== 'webkit') expect(isRestored).toBe(false)
})

test('a studio that comes back and has heard nothing of the log-out shows the sign-in screen', async ({
  device,
  holdfast,
  openTab,
  person,
}) => {
  const deaf = new StudioTab(await device.openTab())
  await deaf.tab.goto(holdfast.url)
  await deafen(deaf.tab)
  await deaf.signIn(person)
  await deaf.generate(PROMPT)
  const other = await openTab()
  await other.expectCard(PROMPT, { count: 1 })
  await other.logOut()
  await deaf.expectCard(PROMPT, { count: 1 })

  await pretendToComeBack(deaf.tab)
  await expect.poll(() => deaf.isSignedOut(), { timeout: 2_000 }).toBe(true)
  expect(await placesIn(deaf)).toEqual([])
  expect(await placesIn(other)).toEqual([])
})
