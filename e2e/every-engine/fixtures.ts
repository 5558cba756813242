import { fileURLToPath } from 'node:url'
import { buildPage } from '../../bench/tabs/build-page.ts'
import { type PageServer, servePage } from '../../bench/tabs/serve-page.ts'
import type { Device, Engine, EngineName } from '../engines/engine.ts'
import { launchEngine } from '../engines/launch-engine.ts'
import { type Api, apiOf } from '../support/api.ts'
import { type BreakableNetwork, openNetwork } from '../support/breakable-network.ts'
import { ClientTab } from '../support/client-tab.ts'
import { finishNewest } from '../support/finish-newest.ts'
import { test as base, expect } from '../support/fixtures.ts'
import { StudioTab } from '../support/studio-tab.ts'

export interface EngineOptions {
  /** Which one this project is. */
  engineName: EngineName
}

interface WorkerFixtures extends EngineOptions {
  engine: Engine
  /** Of the page with the client alone. */
  clientScript: string
}

interface TestFixtures {
  openDevice: () => Promise<Device>
  /** The test's own: where tabs are opened unless it says otherwise. */
  device: Device
  network: BreakableNetwork
  /** Ends the person's newest task, which the provider would work at for ever (`[stuck]`). */
  finish: () => Promise<void>
  /** Opens the studio in a new tab and signs in unless this device is signed in. */
  openTab: (options?: { on?: Device; url?: string }) => Promise<StudioTab>
  /** A page with the client alone, on an origin of this test's own with a network that can be cut. */
  site: PageServer
  /** The person, who can be signed in there. */
  user: Api
  /** Opens that page in a new tab and signs nobody in; `without` are parts of a browser that it is to lack. */
  openPage: (options?: { without?: string }) => Promise<ClientTab>
}

const CLIENT_PAGE = fileURLToPath(new URL('../support/client-page.ts', import.meta.url))

/** The same specs on every engine: what they need of a browser is in `engines/engine.ts`. */
export const test = base.extend<TestFixtures, WorkerFixtures>({
  engineName: ['chromium', { option: true, scope: 'worker' }],
  engine: [
    async ({ engineName }, use) => {
      const engine = await launchEngine(engineName)
      await use(engine)
      await engine.close()
    },
    { scope: 'worker', timeout: 60_000 },
  ],
  clientScript: [
    // biome-ignore lint/correctness/noEmptyPattern: Playwright reads a fixture's dependencies from this pattern.
    async ({}, use) => use(await buildPage(CLIENT_PAGE)),
    { scope: 'worker' },
  ],
  openDevice: async ({ engine }, use) => {
    const opened: Device[] = []
    await use(async () => {
      const device = await engine.openDevice()
      opened.push(device)
      return device
    })
    for (const device of opened) await device.close()
  },
  device: async ({ openDevice, engineName }, use, info) => {
    const device = await openDevice()
    info.annotations.push({ type: 'engine', description: `${engineName} ${device.version}` })
    await use(device)
  },
  network: async ({ holdfast }, use) => {
    const network = await openNetwork(holdfast.url)
    await use(network)
    await network.close()
  },
  finish: async ({ holdfast, person }, use) => {
    await use(async () => {
      const api = await apiOf(holdfast, person)
      await expect.poll(async () => (await api.tasks())[0]?.status).toBe('running')
      await finishNewest(holdfast)
    })
  },
  openTab: async ({ device, holdfast, person }, use) => {
    await use(async ({ on = device, url = holdfast.url } = {}) => {
      const studio = new StudioTab(await on.openTab())
      await studio.open(url, person)
      return studio
    })
  },
  site: async ({ clientScript, holdfast }, use) => {
    const site = await servePage({ current: clientScript, next: clientScript }, holdfast.url)
    await use(site)
    await site.close()
  },
  user: async ({ holdfast, person }, use) => use(await apiOf(holdfast, person)),
  openPage: async ({ device, site }, use) => {
    await use(async ({ without = '' } = {}) => {
      const page = new ClientTab(await device.openTab())
      await page.tab.goto(`${site.url}/?without=${without}`)
      return page
    })
  },
})

export { expect }
