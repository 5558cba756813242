import { defineConfig } from '@playwright/test'
import { chromiumPath, firefoxPath, miniBrowserPath } from './engines/browser-paths.ts'
import { CHROMIUM_OPTIONS } from './engines/launch-engine.ts'
import type { EngineOptions } from './every-engine/fixtures.ts'

const ON_EVERY_ENGINE = 'every-engine/*.spec.ts'

/** Real tabs, real server processes, real PostgreSQL. Each worker has a server of its own. */
export default defineConfig<object, EngineOptions>({
  testDir: '.',
  fullyParallel: true,
  // They wait for pages and generations most of the time.
  workers: 3,
  timeout: 120_000,
  expect: { timeout: 30_000 },
  reporter: [['list']],
  projects: [
    {
      name: 'chromium',
      testMatch: ['*.spec.ts', ON_EVERY_ENGINE],
      use: {
        engineName: 'chromium',
        browserName: 'chromium',
        launchOptions: { ...CHROMIUM_OPTIONS, executablePath: chromiumPath() },
      },
    },
    // Those that are not here make no project: "npm test" says which, and why.
    ...(firefoxPath()
      ? [{ name: 'firefox', testMatch: ON_EVERY_ENGINE, use: { engineName: 'firefox' } as const }]
      : []),
    ...(miniBrowserPath()
      ? [{ name: 'webkit', testMatch: ON_EVERY_ENGINE, use: { engineName: 'webkit' } as const }]
      : []),
  ],
})
