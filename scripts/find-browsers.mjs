/** The end-to-end tests drive real browsers, which npm does not bring. */
import { accessSync, constants, existsSync, readFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { fail, run, step } from './bootstrap.mjs'

const DEBIAN_LIBRARIES = ['x86_64-linux-gnu', 'aarch64-linux-gnu'].map((machine) => `/usr/lib/${machine}`)

/**
 * What each engine is made of. `variable` names a program that is somewhere unusual, and hands what was found to the
 * tests. Chromium is needed everywhere; the others only where we know that they work, and that is Debian.
 */
const ENGINES = [
  {
    name: 'chromium',
    called: 'Chromium',
    packages: ['chromium'],
    isNeeded: () => true,
    programs: [
      {
        variable: 'CHROMIUM_PATH',
        names: ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'],
        elsewhere: [
          '/snap/bin/chromium',
          '/Applications/Chromium.app/Contents/MacOS/Chromium',
          '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
        ],
      },
    ],
  },
  {
    name: 'firefox',
    called: 'Firefox',
    packages: ['firefox-esr'],
    isNeeded: isDebian,
    programs: [{ variable: 'FIREFOX_PATH', names: ['firefox-esr'], elsewhere: [] }],
  },
  {
    name: 'webkit',
    called: 'WebKit',
    packages: ['webkit2gtk-driver', 'xvfb'],
    isNeeded: isDebian,
    programs: [
      {
        variable: 'MINIBROWSER_PATH',
        names: [],
        elsewhere: DEBIAN_LIBRARIES.map((folder) => `${folder}/webkit2gtk-4.1/MiniBrowser`),
      },
      { variable: 'WEBKIT_DRIVER_PATH', names: ['WebKitWebDriver'], elsewhere: [] },
      { variable: 'XVFB_PATH', names: ['Xvfb'], elsewhere: [] },
    ],
  },
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

function findProgram({ variable, names, elsewhere }) {
  const asked = process.env[variable]
  if (asked) {
    return isExecutable(asked)
      ? asked
      : fail(`${variable} is ${asked}, which cannot be run. Correct or unset it.`)
  }
  const folders = ['/usr/bin', ...(process.env.PATH ?? '').split(delimiter).filter(Boolean)]
  const candidates = [...names.flatMap((name) => folders.map((folder) => join(folder, name))), ...elsewhere]
  return candidates.find(isExecutable)
}

/** Its programs by variable, or null when one of them is missing. */
function findEngine({ programs }) {
  const found = programs.map((program) => [program.variable, findProgram(program)])
  return found.every(([, path]) => path) ? Object.fromEntries(found) : null
}

function isLike(system) {
  if (!existsSync('/etc/os-release')) return false
  return new RegExp(`^ID(_LIKE)?=.*\\b(${system})\\b`, 'm').test(readFileSync('/etc/os-release', 'utf8'))
}

/** Ubuntu is like Debian but has no firefox-esr and no Chromium outside of snaps. */
function isDebian() {
  return isLike('debian') && !isLike('ubuntu')
}

const installArgs = (packages) => ['install', '-y', '--no-install-recommends', ...packages]

function explainMissing(engines) {
  const named = engines.map(({ called }) => called).join(', ')
  const packages = engines.flatMap((engine) => engine.packages)
  const variables = engines.flatMap(({ programs }) => programs.map(({ variable }) => variable))
  const how = isLike('debian|ubuntu')
    ? `Install: sudo apt-get update && sudo apt-get ${installArgs(packages).join(' ')}`
    : process.platform === 'darwin'
      ? 'Install: brew install --cask chromium'
      : `Install your system's packages for it (Debian calls them ${packages.join(', ')}).`
  return [
    `The end-to-end tests need ${named}. ${how}`,
    `If it is somewhere unusual, set ${variables.join(', ')}. Without it: npm test -- PATTERN runs the other tests.`,
  ].join('\n')
}

async function install(engines) {
  const named = engines.map(({ called }) => called).join(', ')
  await step(`Installing ${named}`, `${named} installed`, async () => {
    const env = { DEBIAN_FRONTEND: 'noninteractive' }
    for (const args of [['update'], installArgs(engines.flatMap(({ packages }) => packages))]) {
      const { code, output } = await run('apt-get', ['-q', ...args], { env, capture: true })
      if (code !== 0) {
        fail(`${output}\n${named} could not be installed (see above). By hand: apt-get ${args.join(' ')}`)
      }
    }
  })
}

/**
 * The engines there are, installed first where we may do that, and a sentence for each that the tests will do
 * without. On Debian none is left out.
 */
export async function ensureBrowsers() {
  const missing = ENGINES.filter((engine) => engine.isNeeded() && !findEngine(engine))
  if (missing.length > 0) {
    if (!isLike('debian|ubuntu') || process.getuid?.() !== 0) fail(explainMissing(missing))
    await install(missing)
  }
  const env = {}
  const names = []
  const leftOut = []
  for (const engine of ENGINES) {
    const found = findEngine(engine)
    if (found) {
      Object.assign(env, found)
      names.push(engine.name)
    } else if (engine.isNeeded()) {
      fail(`${engine.called} was installed, but is not where it should be. ${explainMissing([engine])}`)
    } else {
      leftOut.push(
        `The tests in ${engine.called} were left out: it is not here, and only Debian's packages (${engine.packages.join(', ')}) are known to work.`,
      )
    }
  }
  return { names, env, leftOut }
}
