/** The end-to-end tests drive a real Chromium, which npm does not bring. */
import { accessSync, constants, existsSync, readFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { fail, run, step } from './bootstrap.mjs'

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable']
const ELSEWHERE = [
  '/snap/bin/chromium',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
]

function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    // Missing and not executable are the same to us.
    return false
  }
}

function findChromium() {
  const asked = process.env.CHROMIUM_PATH
  if (asked) {
    return isExecutable(asked)
      ? asked
      : fail(`CHROMIUM_PATH is ${asked}, which cannot be run. Correct or unset it.`)
  }
  const folders = ['/usr/bin', ...(process.env.PATH ?? '').split(delimiter).filter(Boolean)]
  const candidates = [...NAMES.flatMap((name) => folders.map((folder) => join(folder, name))), ...ELSEWHERE]
  return candidates.find(isExecutable)
}

function isDebian() {
  if (!existsSync('/etc/os-release')) return false
  return /^ID(_LIKE)?=.*\b(debian|ubuntu)\b/m.test(readFileSync('/etc/os-release', 'utf8'))
}

const INSTALL = ['install', '-y', '--no-install-recommends', 'chromium']

/** The path of Chromium, installed first where we may do that. */
export async function ensureChromium() {
  const found = findChromium()
  if (found) return found
  if (!isDebian() || process.getuid?.() !== 0) {
    fail(
      `The end-to-end tests need Chromium or Chrome. ${
        isDebian()
          ? `Install it: sudo apt-get update && sudo apt-get ${INSTALL.join(' ')}`
          : process.platform === 'darwin'
            ? 'Install it: brew install --cask chromium'
            : "Install your system's package chromium."
      }\nIf it is somewhere unusual, set CHROMIUM_PATH. Without it: npm test -- PATTERN runs the other tests.`,
    )
  }
  await step('Installing Chromium', 'Chromium installed', async () => {
    const env = { DEBIAN_FRONTEND: 'noninteractive' }
    for (const args of [['update'], INSTALL]) {
      const { code, output } = await run('apt-get', ['-q', ...args], { env, capture: true })
      if (code !== 0) {
        fail(`${output}\nChromium could not be installed (see above). By hand: apt-get ${args.join(' ')}`)
      }
    }
  })
  return (
    findChromium() ?? fail('Chromium was installed, but no command chromium is there. Set CHROMIUM_PATH.')
  )
}
