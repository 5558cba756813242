import { fileURLToPath } from 'node:url'
import { chromium, firefox, type LaunchOptions } from '@playwright/test'
import { chromiumPath, firefoxPath, miniBrowserPath } from './browser-paths.ts'
import type { Engine, EngineName } from './engine.ts'
import { crashByDevtools, createPlaywrightEngine } from './playwright-engine.ts'
import { killProcessOfPage, takeBallast } from './process-of-page.ts'
import { createWebKitEngine } from './webkit-engine.ts'

const WRAPPER = fileURLToPath(new URL('./firefox-without-crash-reporter.sh', import.meta.url))

export const CHROMIUM_OPTIONS: LaunchOptions = {
  args: [
    '--no-sandbox',
    '--disable-background-networking',
    '--disable-component-update',
    '--disable-sync',
    '--no-first-run',
  ],
}

const LAUNCH: Record<EngineName, () => Promise<Engine>> = {
  chromium: async () =>
    createPlaywrightEngine(
      await chromium.launch({
        ...CHROMIUM_OPTIONS,
        // As users have it: Playwright would switch it off.
        ignoreDefaultArgs: ['--disable-back-forward-cache'],
        executablePath: chromiumPath(),
      }),
      crashByDevtools,
    ),

  firefox: async () => {
    const browser = await firefox.launch({
      channel: 'moz-firefox',
      executablePath: WRAPPER,
      env: { ...process.env, FIREFOX_PATH: found('Firefox', firefoxPath()) },
      // A process for each tab: with one for all, a crash would take them all.
      firefoxUserPrefs: { 'dom.ipc.processCount.webIsolated': 8 },
    })
    return createPlaywrightEngine(browser, (page) =>
      killProcessOfPage({
        root: process.pid,
        matches: /-contentproc/,
        load: (megabytes) => page.evaluate(takeBallast, megabytes),
      }),
    )
  },

  webkit: () => createWebKitEngine(found('MiniBrowser', miniBrowserPath())),
}

export function launchEngine(name: EngineName): Promise<Engine> {
  return LAUNCH[name]()
}

function found(name: string, path: string | undefined): string {
  if (!path) throw new Error(`No ${name} found. Run "npm test" once, or set its path.`)
  return path
}
