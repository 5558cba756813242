import type { Locator, Page } from '@playwright/test'
import { expect, test } from './support/fixtures.ts'
import type { Studio } from './support/studio.ts'

const WITH = { search: '?devtools' }

const panelOf = (page: Page) => page.getByRole('region', { name: 'Holdfast devtools' })

async function openPanel({ page }: Studio): Promise<Locator> {
  await page.getByRole('button', { name: 'Open Holdfast devtools' }).click()
  await expect(panelOf(page)).toBeVisible()
  return panelOf(page)
}

const tabs = (panel: Locator) => panel.getByRole('table', { name: 'Tabs of this browser' })

/** The row of that tab, in whosever panel. */
async function rowOf(panel: Locator, studio: Studio): Promise<Locator> {
  const id = await studio.panel.getAttribute('data-tab-id')
  const name = panel.page().locator(`td:first-child code[title="${id}"]`)
  return tabs(panel).getByRole('row').filter({ has: name })
}

test('who does not ask for devtools never loads them', async ({ openStudio }) => {
  const studio = await openStudio()
  const loaded = () =>
    studio.page.evaluate(() =>
      performance
        .getEntriesByType('resource')
        .map(({ name }) => name)
        .filter((name) => /devtools/.test(name)),
    )
  expect(await loaded()).toEqual([])
  await expect(studio.page.locator('holdfast-devtools')).toHaveCount(0)
  await studio.panel.click()
  await studio.page.getByRole('link', { name: 'Open the devtools' }).click()
  await openPanel(studio)
  expect((await loaded()).length).toBeGreaterThan(0)
})

test('F5: shows both tabs, who leads and why; after a simulated crash the other leads, and says why', async ({
  context,
  openStudio,
}) => {
  const problems: string[] = []
  context.on('console', (message) => {
    if (/Content Security Policy/i.test(message.text())) problems.push(message.text())
  })
  const first = await openStudio(WITH)
  await expect(first.panel).toHaveAttribute('data-connection', 'push')
  const second = await openStudio(WITH)
  await expect(second.panel).toHaveAttribute('data-connection', 'follower')
  const here = await openPanel(first)
  const there = await openPanel(second)

  await expect(await rowOf(here, first)).toContainText(/Leads.*Nobody led when it asked/)
  await expect(await rowOf(here, second)).toContainText(/Follows.*leads, and passes everything on/)
  await expect(await rowOf(there, first)).toContainText('Leads')
  await expect(await rowOf(there, second)).toContainText('this tab')

  await here.getByRole('button', { name: 'Crash' }).click()
  await expect(first.page.getByRole('alert')).toContainText('This tab has crashed')
  await expect(await rowOf(there, second)).toContainText(/Leads.*closed, crashed or was put away/)
  await expect(await rowOf(there, first)).toContainText('Silent')
  await expect(tabs(there).getByRole('row')).toHaveCount(2, { timeout: 30_000 })
  await expect(second.panel).toHaveAttribute('data-connection', 'push')
  // The dead tab's own panel sees it too.
  await expect(await rowOf(here, second)).toContainText('Leads')
  await expect(await rowOf(here, first)).toContainText('Crashed')

  await first.page.getByRole('button', { name: 'Reload', exact: true }).click()
  await expect(first.panel).toHaveAttribute('data-connection', 'follower')
  // It was left open, and is so again.
  await expect(await rowOf(panelOf(first.page), first)).toContainText('Follows')
  expect(problems).toEqual([])
})

test('offline: a submit waits in the outbox, and is sent when the network is back', async ({
  openStudio,
}) => {
  const studio = await openStudio(WITH)
  await expect(studio.panel).toHaveAttribute('data-connection', 'push')
  // A new conversation needs the server; what follows in it does not.
  await studio.generate('[fast] a message')
  const panel = await openPanel(studio)
  const offline = panel.getByRole('button', { name: 'Offline' })
  await offline.click()
  await expect(offline).toHaveAttribute('aria-pressed', 'true')
  await expect(studio.panel).toHaveAttribute('data-connection', 'offline')
  await expect(panel.getByRole('complementary', { name: 'This tab' })).toContainText('Offline')

  await panel.getByRole('tab', { name: 'Outbox' }).click()
  const prompt = '[fast] a letter in a bottle'
  await studio.generate(prompt)
  await expect(panel.getByRole('table', { name: 'Not sent yet' })).toContainText('waiting')
  await offline.click()
  await expect(panel.getByText('Nothing waits')).toBeVisible()
  await panel.getByRole('tab', { name: 'Tasks' }).click()
  await expect(panel.getByRole('table', { name: 'Tasks' }).getByRole('row').nth(1)).toContainText(
    'completed',
    {
      timeout: 30_000,
    },
  )
  await studio.expectPicture(prompt)
})

test('F5: hidden for five seconds, the lead goes to the visible tab', async ({ openStudio }) => {
  const first = await openStudio(WITH)
  await expect(first.panel).toHaveAttribute('data-connection', 'push')
  const second = await openStudio(WITH)
  const here = await openPanel(first)
  const there = await openPanel(second)
  await here.getByRole('button', { name: 'Hidden' }).click()
  await expect(await rowOf(there, first)).toContainText('hidden')
  await expect(await rowOf(there, second)).toContainText(/Leads.*hidden for five seconds, and handed over/)
  await expect(here.getByRole('list', { name: 'What happened in this tab' })).toContainText(
    'handed the lead to a visible tab',
  )
  await expect(first.panel).toHaveAttribute('data-connection', 'follower')
})

test('by keyboard alone, and named for those who do not see it', async ({ openStudio }) => {
  const studio = await openStudio(WITH)
  await expect(studio.panel).toHaveAttribute('data-connection', 'push')
  const { page } = studio
  const { keyboard } = page
  await page.getByRole('button', { name: 'Open Holdfast devtools' }).focus()
  await keyboard.press('Enter')
  const panel = panelOf(page)
  await expect(panel.getByRole('tab', { name: 'Tabs', exact: false }).first()).toBeFocused()
  await expect(panel.getByRole('tablist', { name: 'Views' }).getByRole('tab')).toHaveCount(5)
  for (const name of ['Tasks', 'Outbox', 'Storage', 'Messages']) {
    await keyboard.press('ArrowRight')
    await expect(panel.getByRole('tab', { name })).toBeFocused()
    await expect(panel.getByRole('tab', { name })).toHaveAttribute('aria-selected', 'true')
    await expect(panel.getByRole('tabpanel', { name })).toBeVisible()
  }
  await keyboard.press('Home')
  await keyboard.press('Tab')
  await expect(panel.getByRole('button', { name: 'Hidden' })).toBeFocused()
  await keyboard.press('Tab')
  await keyboard.press('Space')
  await expect(panel.getByRole('button', { name: 'Offline' })).toHaveAttribute('aria-pressed', 'true')
  await keyboard.press('Space')
  await keyboard.press('Tab')
  await keyboard.press('Tab')
  await expect(panel.getByRole('button', { name: 'Close Holdfast devtools' })).toBeFocused()
  await keyboard.press('Escape')
  await expect(panel).toBeHidden()
  await expect(page.getByRole('button', { name: 'Open Holdfast devtools' })).toBeFocused()

  await keyboard.press('Enter')
  const unnamed = await panel.evaluate((element) =>
    [...element.querySelectorAll('button, input, progress, table, [role]')]
      .filter((control) => {
        const name = control.getAttribute('aria-label') ?? control.getAttribute('aria-labelledby')
        return !name && !control.textContent?.trim() && control.getAttribute('role') !== 'status'
      })
      .map((control) => control.outerHTML),
  )
  expect(unnamed).toEqual([])
})

for (const width of [360, 1280]) {
  test(`the panel fits at ${width} px`, async ({ openStudio }) => {
    const studio = await openStudio(WITH)
    await studio.page.setViewportSize({ width, height: 720 })
    await studio.generate('[fast] a lantern')
    const panel = await openPanel(studio)
    for (const name of ['Tabs', 'Tasks', 'Outbox', 'Storage', 'Messages']) {
      await panel.getByRole('tab', { name }).first().click()
      const overflow = await studio.page.evaluate(
        () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
      )
      expect(overflow, name).toBeLessThanOrEqual(0)
    }
    await expect(panel.getByRole('button', { name: 'Close Holdfast devtools' })).toBeInViewport()
    await expect(panel.getByRole('button', { name: 'Crash' })).toBeInViewport()
  })
}
