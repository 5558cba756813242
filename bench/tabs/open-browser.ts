import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type BrowserContext, chromium, type Page } from '@playwright/test'
import { chromiumPath } from '../../e2e/engines/browser-paths.ts'

export const FLAGS = [
  '--no-sandbox',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--no-first-run',
]

/** What is taken away from every page of a browser, before any script of its own runs. */
export type Lacking = 'locks' | 'indexedDB'

export interface Tab {
  name: string
  page: Page
  /** The renderer, which this tab shares with nobody. */
  pid: number
  stopped: boolean
  hidden: boolean
  /** Whether its writes fail. */
  full: boolean
  /** By how many milliseconds its clock is off. */
  clockOff: number
}

/** One browser on one device: its tabs share storage, locks and channels. */
export interface LabBrowser {
  context: BrowserContext
  /** What is given goes into the page's address: `release`, `deaf`. */
  openTab(url: string, options?: Record<string, string>): Promise<Tab>
  /** SIGKILL to all of its processes at once. */
  kill(): Promise<void>
  close(): Promise<void>
}

export interface BrowserOptions {
  lacking?: Lacking[]
  /** Kept when it is given, so that the next browser finds what this one has left. */
  profile?: string
}

export async function openBrowser({ lacking = [], profile }: BrowserOptions = {}): Promise<LabBrowser> {
  const folder = profile ?? (await makeProfile())
  const context = await chromium.launchPersistentContext(folder, {
    executablePath: chromiumPath(),
    // A renderer kept in reserve would make it impossible to tell which one a new tab got.
    args: [...FLAGS, '--disable-features=SpareRendererForSitePerProcess'],
  })
  await context.addInitScript((missing: string[]) => {
    if (missing.includes('locks')) Reflect.deleteProperty(Navigator.prototype, 'locks')
    if (missing.includes('indexedDB')) Object.defineProperty(window, 'indexedDB', { value: undefined })
  }, lacking)
  const browser = context.browser()
  if (!browser) throw new Error('The browser ended as soon as it had begun.')
  const session = await browser.newBrowserCDPSession()
  let opened = 0

  async function processes(type?: string): Promise<number[]> {
    const { processInfo } = await session.send('SystemInfo.getProcessInfo')
    return processInfo.filter((process) => type === undefined || process.type === type).map(({ id }) => id)
  }

  return {
    context,
    async openTab(url, given = {}) {
      const name = `tab ${++opened}`
      const address = new URL(url)
      address.search = new URLSearchParams({ tab: name, ...given }).toString()
      const before = await processes('renderer')
      const page = await context.newPage()
      await page.goto(address.href)
      const [pid, another] = (await processes('renderer')).filter((id) => !before.includes(id))
      if (pid === undefined || another !== undefined) throw new Error('A tab without a renderer of its own.')
      return { name, page, pid, stopped: false, hidden: false, full: false, clockOff: 0 }
    },
    async kill() {
      const ended = new Promise((resolve) => browser.once('disconnected', resolve))
      for (const pid of await processes()) signal(pid, 'SIGKILL')
      await ended
    },
    async close() {
      await context.close()
      if (profile === undefined) await rm(folder, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}

export function makeProfile(): Promise<string> {
  return mkdtemp(join(tmpdir(), 'holdfast-profile-'))
}

export function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch {
    // It is gone already.
  }
}
