import { type BrowserContext, test as base, expect, type Page } from '@playwright/test'
import { type HoldfastProcess, startHoldfast } from './holdfast-process.ts'
import { Studio } from './studio.ts'

interface WorkerFixtures {
  holdfast: HoldfastProcess
}

interface TestFixtures {
  /** A user nobody else uses: tests share a server, not tasks. */
  person: string
  /** Opens the studio in a new tab of a context (by default the test's own) and signs in. */
  openStudio: (options?: { context?: BrowserContext; as?: string; search?: string }) => Promise<Studio>
}

let people = 0

export const test = base.extend<TestFixtures, WorkerFixtures>({
  holdfast: [
    // biome-ignore lint/correctness/noEmptyPattern: Playwright reads a fixture's dependencies from this pattern.
    async ({}, use) => {
      const holdfast = await startHoldfast()
      await use(holdfast)
      await holdfast.stop()
    },
    { scope: 'worker', timeout: 60_000 },
  ],
  // biome-ignore lint/correctness/noEmptyPattern: as above.
  person: async ({}, use, info) => {
    people += 1
    await use(`Person ${info.workerIndex}-${people}`)
  },
  openStudio: async ({ context, holdfast, person }, use) => {
    await use(async (options = {}) => {
      const page: Page = await (options.context ?? context).newPage()
      const studio = new Studio(page, holdfast)
      await studio.open(options.search)
      await studio.signInUnlessSignedIn(options.as ?? person)
      return studio
    })
  },
})

export { expect }
