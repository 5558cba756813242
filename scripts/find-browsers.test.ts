import { execFile } from 'node:child_process'
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const findBrowsers = fileURLToPath(new URL('find-browsers.mjs', import.meta.url))

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdfast-browsers-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

let systems = 0

/** A file system with these programs, of a kind where Firefox and WebKit are not known to work. */
async function makeSystem(programs: string[]): Promise<string> {
  systems += 1
  const systemRoot = join(folder, String(systems))
  await mkdir(join(systemRoot, 'etc'), { recursive: true })
  await writeFile(join(systemRoot, 'etc/os-release'), 'ID=ubuntu\nID_LIKE=debian\n')
  for (const program of programs) {
    const path = join(systemRoot, program)
    await mkdir(dirname(path), { recursive: true })
    await writeFile(path, '')
    await chmod(path, 0o755)
  }
  return systemRoot
}

const CHROMIUM = 'usr/bin/chromium'
const FIREFOX = 'usr/bin/firefox-esr'
const WEBKIT = [
  'usr/lib/x86_64-linux-gnu/webkit2gtk-4.1/MiniBrowser',
  'usr/bin/WebKitWebDriver',
  'usr/bin/Xvfb',
]

/** As `npm test` asks, in a process of its own: a missing browser ends it. */
async function ensure(programs: string[], env: Record<string, string>) {
  const systemRoot = await makeSystem(programs)
  const script = `
    const { ensureBrowsers } = await import(${JSON.stringify(findBrowsers)})
    console.log(JSON.stringify(await ensureBrowsers({ systemRoot: ${JSON.stringify(systemRoot)} })))
  `
  return new Promise<{ code: number; said: string }>((resolve) => {
    execFile(process.execPath, ['--input-type=module', '--eval', script], { env }, (error, stdout, stderr) =>
      resolve({ code: error ? Number(error.code) : 0, said: stdout + stderr }),
    )
  })
}

describe('the browsers that the tests need', () => {
  it.each([
    ['Firefox', [CHROMIUM, ...WEBKIT], 'FIREFOX_PATH'],
    ['WebKit', [CHROMIUM, FIREFOX], 'MINIBROWSER_PATH'],
    ['WebKit', [CHROMIUM, FIREFOX, ...WEBKIT.slice(0, 2)], 'XVFB_PATH'],
  ])('on CI a missing %s is red', async (called, programs, variable) => {
    for (const CI of ['true', '1']) {
      const { code, said } = await ensure(programs, { CI })
      expect(said).toContain(`need ${called}.`)
      expect(said).toContain(variable)
      expect(code).toBe(1)
    }
  })

  it('on CI all that are missing are named at once', async () => {
    const { code, said } = await ensure([CHROMIUM], { CI: 'true' })
    expect(said).toContain('need Firefox, WebKit.')
    expect(code).toBe(1)
  })

  it.each(['true', 'false'])('with all of them here nothing is left out, CI=%s', async (CI) => {
    const { code, said } = await ensure([CHROMIUM, FIREFOX, ...WEBKIT], { CI })
    expect(code).toBe(0)
    expect(JSON.parse(said)).toMatchObject({ names: ['chromium', 'firefox', 'webkit'], leftOut: [] })
  })

  it.each<[string, Record<string, string>]>([
    ['not set', {}],
    ['empty', { CI: '' }],
    ['false', { CI: 'false' }],
    ['0', { CI: '0' }],
  ])('elsewhere, CI %s, one that is not known to work here is left out, and said so', async (_, env) => {
    const { code, said } = await ensure([CHROMIUM], env)
    expect(code).toBe(0)
    expect(JSON.parse(said)).toMatchObject({
      names: ['chromium'],
      leftOut: [expect.stringContaining('Firefox'), expect.stringContaining('WebKit')],
    })
  })
})
