import { expect } from '@playwright/test'
import type { Tab } from '../engines/engine.ts'

const pathOf = (tab: Tab) =>
  // While one page follows the other there is none to ask.
  tab.evaluate(() => location.pathname + location.search, null).catch(() => null)

/** By a link, as it were: the page may go into the back/forward cache. */
export async function goAway(tab: Tab, path: string): Promise<void> {
  await tab.evaluate((to) => void setTimeout(() => location.assign(to)), path)
  await expect.poll(() => pathOf(tab)).toBe(path)
}

/** To the page that had this path. */
export async function goBack(tab: Tab, path: string): Promise<void> {
  await tab.evaluate(() => void setTimeout(() => history.back()), null)
  await expect.poll(() => pathOf(tab)).toBe(path)
}

/** Before anybody signs in: from then on the page hears nothing of other tabs. */
export async function deafen(tab: Tab): Promise<void> {
  await tab.evaluate(() => {
    class DeafChannel extends EventTarget {
      onmessage = null
      postMessage() {}
      close() {}
    }
    Object.assign(window, { BroadcastChannel: DeafChannel })
    // For those who listen already, each is about something else.
    Object.defineProperty(StorageEvent.prototype, 'key', { get: () => 'nobody’s' })
    addEventListener('storage', (event) => event.stopImmediatePropagation(), true)
  }, null)
}

/** What a page is told that comes back from the back/forward cache. */
export async function pretendToComeBack(tab: Tab): Promise<void> {
  await tab.evaluate(() => void dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true })), null)
}
