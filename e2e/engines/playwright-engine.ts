import type { Browser, Locator, Page } from '@playwright/test'
import type { Engine, Part, Tab } from './engine.ts'

/** Chromium and Firefox. How a tab is made to crash is all that differs. */
export function createPlaywrightEngine(browser: Browser, crash: (page: Page) => Promise<void>): Engine {
  return {
    async openDevice() {
      const context = await browser.newContext()
      return {
        version: browser.version(),
        openTab: async () => toTab(await context.newPage(), crash),
        close: () => context.close(),
      }
    },
    close: () => browser.close(),
  }
}

function toTab(page: Page, crash: (page: Page) => Promise<void>): Tab {
  const locate = ({ role, name, exact = false }: Part): Locator => page.getByRole(role, { name, exact })
  return {
    goto: async (url) => void (await page.goto(url)),
    reload: async () => void (await page.reload()),
    close: () => page.close(),
    crash: () => crash(page),
    isShown: (part) => locate(part).isVisible(),
    click: (part) => locate(part).click(),
    // Key by key: in Firefox, what `fill` sets is not noticed by the page.
    type: (part, text) => locate(part).pressSequentially(text),
    pressEnter: () => page.keyboard.press('Enter'),
    // Playwright's own type for functions that run in the page is about handles, which are not used here.
    evaluate: (run, argument) => page.evaluate(run as never, argument) as Promise<never>,
  }
}

/** The browser's own way. The command is never answered: the page is gone. */
export async function crashByDevtools(page: Page): Promise<void> {
  const session = await page.context().newCDPSession(page)
  const crashed = page.waitForEvent('crash')
  session.send('Page.crash').catch(() => {})
  await crashed
}
