import { setTimeout as sleep } from 'node:timers/promises'
import type { BrowserContext, Page } from '@playwright/test'
import { marksOf } from './visit.ts'

export const TABS = 10

/**
 * What ten tabs of one browser ask for in so long, per tab and minute, their opening included. One of them is looked at;
 * the others are hidden, and say so, since a headless browser would take all of them for visible.
 */
export async function countRequests(
  context: BrowserContext,
  address: string,
  calls: () => number,
  forMs: number,
): Promise<number> {
  const pages: Page[] = []
  try {
    const before = calls()
    const began = performance.now()
    for (let tab = 0; tab < TABS; tab++) {
      const page = await context.newPage()
      pages.push(page)
      if (tab > 0) await page.addInitScript(hide)
      await page.goto(address)
    }
    for (const page of pages) await marksOf(page, 'painted')
    await sleep(forMs - (performance.now() - began))
    return (calls() - before) / TABS / ((performance.now() - began) / 60_000)
  } finally {
    for (const page of pages) await page.close()
  }
}

function hide(): void {
  Object.defineProperty(document, 'visibilityState', { get: () => 'hidden' })
  Object.defineProperty(document, 'hidden', { get: () => true })
}
