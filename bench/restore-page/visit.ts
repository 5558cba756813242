import { setTimeout as sleep } from 'node:timers/promises'
import type { BrowserContext, Page } from '@playwright/test'
import type { Marks } from './cards.tsx'
import type { Shown } from './contenders.ts'
import { userOf } from './seed-users.ts'

export interface Visit {
  paintMs: number
  confirmedMs: number
}

/** Longer than any contender waits before it writes its copy (TanStack: a second). */
const WRITTEN_AFTER_MS = 1_500
/** The next visit is not to meet the rest of this one's work. */
const SETTLED_AFTER_MS = 300
/** Asking a page anything makes it compile the browser driver's own script first, 14 ms: not while it is measured. */
const LOOK_AFTER_MS = 700

export function addressOf(url: string, shown: Shown, size: number): string {
  return `${url}/${shown}.html?tasks=${size}&user=${userOf(size)}`
}

/** Opens the page in a tab of its own, as on a visit some time after the last one. `toKeep`: until its copy is written. */
export async function visit(context: BrowserContext, address: string, toKeep = false): Promise<Visit> {
  const page = await context.newPage()
  try {
    await page.goto(address, { waitUntil: 'commit' })
    await sleep(LOOK_AFTER_MS)
    const { painted = Number.NaN, confirmed = Number.NaN } = await marksOf(page, 'confirmed')
    await sleep(toKeep ? WRITTEN_AFTER_MS : SETTLED_AFTER_MS)
    return { paintMs: painted, confirmedMs: confirmed }
  } finally {
    await page.close()
  }
}

/** Once this one is set. */
export async function marksOf(page: Page, name: keyof Marks): Promise<Marks> {
  await page.waitForFunction((mark) => (window.marks?.[mark] ?? 0) > 0, name, {
    timeout: 120_000,
    // Asked by a timer, not in every frame: the measured page is not to be kept busy by the question.
    polling: 200,
  })
  return page.evaluate(() => window.marks)
}
