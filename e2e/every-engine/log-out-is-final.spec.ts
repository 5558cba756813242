import { setTimeout as pause } from 'node:timers/promises'
import type { Api } from '../support/api.ts'
import { deafen, goAway, goBack, pretendToComeBack } from '../support/away-and-back.ts'
import type { ClientTab } from '../support/client-tab.ts'
import { placesOf } from '../support/stored.ts'
import { expect, test } from './fixtures.ts'

const PROMPT = '[stuck] a letter to nobody else'
/** Longer than a change waits to be written (250 ms), and than the tabs need to tell each other. */
const WRITTEN_MS = 500

/** Whatever tells what the user did: prompts, the ids of tasks, the addresses of their files. */
async function tracesOf(user: Api): Promise<string[]> {
  const tasks = await user.tasks()
  const addresses = tasks.flatMap(({ result }) => result?.outputs.map(({ url }) => url ?? '') ?? [])
  // Without the signature, which is another each time.
  const files = addresses.map((address) => address.replace(/\?.*$/, '')).filter(Boolean)
  return [PROMPT, ...tasks.map(({ id }) => id), ...files]
}

/** Leads, with a task of this prompt on the screen and in the local copy. */
async function signInWithTask(page: ClientTab, user: Api): Promise<void> {
  await page.signIn(user)
  await page.expectState({ restore: 'confirmed', role: 'leader' })
  await page.submit(PROMPT)
  await page.expectText(`${PROMPT}: running`)
  await expect
    .poll(async () => placesOf([PROMPT], await page.stored()))
    .toContainEqual(expect.stringMatching(/^indexedDB .*:tasks$/))
}

async function expectNoTrace(pages: ClientTab[], traces: string[], except: RegExp[] = []): Promise<void> {
  await pause(WRITTEN_MS)
  for (const page of pages) {
    const places = placesOf(traces, await page.stored())
    expect(places.filter((place) => !except.some((allowed) => allowed.test(place)))).toEqual([])
  }
}

test('a log-out is final for a tab that stood still before it wrote', async ({ openPage, user, finish }) => {
  const writing = await openPage()
  await signInWithTask(writing, user)
  // One that has ended, with a file, beside one that runs.
  await finish()
  await writing.expectText(`${PROMPT}: completed`)
  await writing.submit(PROMPT)
  const other = await openPage()
  await other.signIn(user)
  await other.expectState({ role: 'follower', restore: 'confirmed' })
  await other.expectText(`${PROMPT}: running`)
  const traces = await tracesOf(user)
  expect(traces).toHaveLength(4)
  expect(placesOf(traces, await other.stored())).not.toEqual([])

  await writing.standStillBeforeWriting(800)
  await other.logOut()
  await expectNoTrace([other, writing], traces)
  await writing.expectState({ userId: null, tasks: {}, unsent: {} })
})

test('a log-out is final for a tab that is closed before it hears of it', async ({ openPage, user }) => {
  const writing = await openPage()
  await deafen(writing.tab)
  await signInWithTask(writing, user)
  const other = await openPage()
  await other.signIn(user)
  await other.expectText(PROMPT)
  const traces = await tracesOf(user)

  await other.logOut()
  // Its last act is to write for the next page.
  await writing.tab.close()
  await expectNoTrace([other], traces)
})

test('a page that comes back from the back/forward cache brings nothing back', async ({
  engineName,
  openPage,
  site,
  user,
}) => {
  // Firefox keeps no page that holds or waits for a lock, and no engine one with a request under way.
  const without = engineName === 'firefox' ? 'locks' : ''
  const away = await openPage({ without })
  const other = await openPage()
  let isRestored = false
  // A request may be under way all the same, by chance.
  for (let attempt = 1; attempt <= 3 && !isRestored; attempt++) {
    await signInWithTask(away, user)
    const traces = await tracesOf(user)
    site.setOnline(false)
    await away.expectState({ connection: 'offline' })
    await away.tab.evaluate(() => void Object.assign(window.app, { sameDocument: true }), null)
    await goAway(away.tab, '/?away')
    // Chromium lets go of a page as soon as there is a message for it. A page that nobody has signed in to sends none.
    await other.logOut()
    site.setOnline(true)

    await goBack(away.tab, `/?without=${without}`)
    await expect.poll(async () => (await away.showings()).length).toBeGreaterThan(0)
    isRestored = await away.tab.evaluate(() => 'sameDocument' in window.app, null)
    if (isRestored) {
      await expect.poll(async () => (await away.showings())[1]).toEqual({ persisted: true, text: '' })
    }
    await expectNoTrace([away, other], traces)
    await away.expectState({ userId: null, tasks: {}, unsent: {} })
  }
  expect(isRestored).toBe(true)
})

test('a page that comes back and has heard nothing of the log-out brings nothing back', async ({
  openPage,
  user,
}) => {
  const deaf = await openPage()
  await deafen(deaf.tab)
  await signInWithTask(deaf, user)
  const other = await openPage()
  await other.signIn(user)
  await other.expectText(PROMPT)
  const traces = await tracesOf(user)
  await deaf.standStillBeforeWriting(0)
  await other.logOut()
  await expectNoTrace([other], traces)
  await deaf.expectText(PROMPT)

  await pretendToComeBack(deaf.tab)
  // At once.
  expect(await deaf.state()).toMatchObject({ userId: null, tasks: {}, unsent: {} })
  await expectNoTrace([deaf, other], traces)
})

test('a log-out before anybody has signed in deletes what the last user left', async ({
  openPage,
  site,
  user,
}) => {
  const before = await openPage()
  await signInWithTask(before, user)
  const traces = await tracesOf(user)
  site.setOnline(false)
  await before.submit('[stuck] not sent')
  await before.tab.close()
  const fresh = await openPage()
  expect(placesOf(traces, await fresh.stored())).not.toEqual([])

  await fresh.logOut()
  await expectNoTrace([fresh], traces)
  const unsent = async () => placesOf(['[stuck] not sent'], await fresh.stored())
  expect(await unsent()).toEqual([expect.stringMatching(/^indexedDB .*:outbox$/)])
  await fresh.logOut({ forget: true })
  expect(await unsent()).toEqual([])
})

test('a log-out keeps what is unsent in the user’s own store, and with forget not even that', async ({
  openPage,
  site,
  user,
}) => {
  const page = await openPage()
  await signInWithTask(page, user)
  const other = await openPage()
  await other.signIn(user)
  await other.expectText(PROMPT)
  const traces = await tracesOf(user)
  site.setOnline(false)
  await page.submit('[stuck] not sent')
  await other.expectText('[stuck] not sent')

  await page.logOut()
  await expectNoTrace([page, other], ['[stuck] not sent', ...traces], [/^indexedDB .*:outbox$/])
  expect(placesOf(traces, await page.stored())).toEqual([])
  await page.signIn(user)
  await other.signIn(user)
  await page.expectText('[stuck] not sent')
  await other.expectText('[stuck] not sent')
  await other.logOut({ forget: true })
  await expectNoTrace([page, other], ['[stuck] not sent', ...traces])
  site.setOnline(true)
  await page.signIn(user)
  await page.expectText(PROMPT)
  expect(await user.tasks()).toHaveLength(1)
})

test('setUser(null) deletes nothing and writes nothing, and after a log-out neither', async ({
  openPage,
  user,
}) => {
  const page = await openPage()
  await signInWithTask(page, user)
  const other = await openPage()
  await other.signIn(user)
  await other.expectText(PROMPT)
  const traces = await tracesOf(user)
  const kept = async (of: ClientTab) => {
    const { document: _, ...stored } = await of.stored()
    // Who leads is no longer this tab.
    return Object.fromEntries(Object.entries(stored).filter(([place]) => !place.endsWith(':lease')))
  }
  await pause(WRITTEN_MS)
  const before = await kept(other)
  await other.signOutQuietly()
  // There is something to write, and then nobody to write it.
  await page.tab.evaluate(async () => {
    await window.app.client.refresh()
    await window.app.client.setUser(null)
  }, null)
  await pause(WRITTEN_MS)
  expect(await kept(other)).toEqual(before)
  expect(placesOf(traces, before)).not.toEqual([])

  await page.signIn(user)
  await other.signIn(user)
  await page.expectText(PROMPT)
  await other.expectText(PROMPT)
  await Promise.all([page.logOut(), other.signOutQuietly()])
  await page.signOutQuietly()
  await expectNoTrace([page, other], traces)
})
