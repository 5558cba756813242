import { execFile } from 'node:child_process'
import { chmod, mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from '@playwright/test'
import { freePort } from '../packages/server/test/free-port.ts'
import { openTerminal, readBlocks } from './support/follow-page.ts'

const inRepository = (path: string) => fileURLToPath(new URL(`../${path}`, import.meta.url))

/** Commands that stay, and what they say when they are ready. */
const SERVER = 'npx holdfast dev'
const APP = 'npm run dev'
const STAY: Record<string, RegExp> = { [SERVER]: /Holdfast is at/, [APP]: /Local:\s+http\S+/ }
const INSTALL = 'npm install @holdfast/client @holdfast/server'

let folder: string
test.beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdfast-newcomer-'))
  // As root, PostgreSQL runs as another user, who must be able to enter.
  await chmod(folder, 0o755)
})
test.afterEach(() => rm(folder, { recursive: true, force: true }))

/**
 * Every block of the page, in its order, in an empty folder. Two things differ from what a reader does: packages that are
 * not on the registry come from tarballs packed here, and the server's ports are free ones.
 */
test('F2: whoever follows docs/GETTING-STARTED.md to the letter has a picture that survives a reload', async ({
  page,
}) => {
  test.setTimeout(240_000)
  const [port, simulatorPort] = [await freePort(), await freePort()]
  const tarballs = join(folder, 'tarballs')
  await promisify(execFile)(process.execPath, [inRepository('scripts/pack.mjs'), tarballs])
  const packed = (await readdir(tarballs)).map((name) => join(tarballs, name))
  expect(packed).toHaveLength(3)

  const terminal = openTerminal(folder, {
    PATH: `${dirname(process.execPath)}:${process.env.PATH}`,
    PORT: `${port}`,
    SIMULATOR_PORT: `${simulatorPort}`,
    NODE_ENV: 'development',
    // A reader says yes when npm asks whether to fetch create-vite.
    npm_config_yes: 'true',
    npm_config_audit: 'false',
    npm_config_prefer_offline: 'true',
    // pnpm and others run none unless told to: it must do without.
    npm_config_ignore_scripts: 'true',
  })
  try {
    const blocks = await readBlocks(inRepository('docs/GETTING-STARTED.md'))
    const said = new Map<string, string>()
    for (const block of blocks) {
      if (block.kind === 'file') {
        await terminal.write(block.path, block.text.replaceAll('localhost:8787', `localhost:${port}`))
        continue
      }
      for (const line of block.lines) {
        const ready = STAY[line]
        if (ready) said.set(line, (await terminal.runUntil(line, ready)).output())
        else await terminal.run(line === INSTALL ? `npm install ${packed.join(' ')}` : line)
      }
    }
    expect([...said.keys()]).toEqual([SERVER, APP])
    expect(blocks.flatMap((block) => (block.kind === 'commands' ? block.lines : []))).toContain(INSTALL)

    const [, address = ''] = /Local:\s+(http\S+)/.exec(said.get(APP) ?? '') ?? []
    await page.goto(address)
    const card = page.getByRole('article')
    await page.getByRole('button', { name: 'Generate' }).click()
    await expect(card).toHaveCount(1)
    await expect(card).toContainText('working')

    await page.reload()
    await expect(card).toContainText('working')
    await expect(card).toHaveCount(1)
    const picture = card.getByRole('img')
    await expect(picture).toBeVisible({ timeout: 60_000 })
    await expect
      .poll(() => picture.evaluate((image: HTMLImageElement) => image.complete && image.naturalWidth))
      .toBeGreaterThan(100)
    await expect(card).toContainText('done')

    await page.reload()
    await expect(picture).toBeVisible()
    await expect(card).toHaveCount(1)
    // The server's data is inside the app's folder, and must not end up in its repository.
    expect(await readFile(join(folder, 'gallery/.holdfast/.gitignore'), 'utf8')).toBe('*\n')
  } finally {
    await terminal.close()
  }
})
