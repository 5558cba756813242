/** The end-to-end tests drive real browsers, which npm does not bring. */
import { accessSync, constants, existsSync, readFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { fail, run, step } from './bootstrap.mjs'

const DEBIAN_LIBRARIES = ['x86_64-linux-gnu', 'aarch64-linux-gnu'].map((machine) => `/usr/lib/${machine}`)

/**
 * What each engine is made of. `variable` names a program that is somewhere unusual, and hands what was found to the
 * tests. Chromium is needed everywhere; the others where we know that they work, and that is Debian, and on CI, which
 * must not stay green without them.
 */
const ENGINES = [
  {
    name: 'chromium',
    called: 'Chromium',
    packages: ['chromium'],
    worksHere: () => true,
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
    worksHere: isDebian,
    programs: [{ variable: 'FIREFOX_PATH', names: ['firefox-esr'], elsewhere: [] }],
  },
  {
    name: 'webkit',
    called: 'WebKit',
    packages: ['webkit2gtk-driver', 'xvfb'],
    worksHere: isDebian,
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

function findProgram({ variable, names, elsewhere }, systemRoot) {
  const asked = process.env[variable]
  if (asked) {
    return isExecutable(asked)
      ? asked
      : fail(`${variable} is ${asked}, which cannot be run. Correct or unset it.`)
  }
  const folders = [join(systemRoot, 'usr/bin'), ...(process.env.PATH ?? '').split(delimiter).filter(Boolean)]
  const candidates = [
    ...names.flatMap((name) => folders.map((folder) => join(folder, name))),
    ...elsewhere.map((path) => join(systemRoot, path)),
  ]
  return candidates.find(isExecutable)
}

/** Its programs by variable, or null when one of them is missing. */
function findEngine({ programs }, systemRoot) {
  const found = programs.map((program) => [program.variable, findProgram(program, systemRoot)])
  return found.every(([, path]) => path) ? Object.fromEntries(found) : null
}

function isLike(system, systemRoot) {
  const file = join(systemRoot, 'etc/os-release')
  if (!existsSync(file)) return false
  return new RegExp(`^ID(_LIKE)?=.*\\b(${system})\\b`, 'm').test(readFileSync(file, 'utf8'))
}

/** Ubuntu is like Debian but has no firefox-esr and no Chromium outside of snaps. */
function isDebian(systemRoot) {
  return isLike('debian', systemRoot) && !isLike('ubuntu', systemRoot)
}

/** As CI services say it: `CI=true`, or `CI=1`. */
const isCi = () => !['', '0', 'false'].includes(process.env.CI ?? '')

const installArgs = (packages) => ['install', '-y', '--no-install-recommends', ...packages]

function explainMissing(engines, systemRoot) {
  const named = engines.map(({ called }) => called).join(', ')
  const packages = engines.flatMap((engine) => engine.packages)
  const variables = engines.flatMap(({ programs }) => programs.map(({ variable }) => variable))
  const how = isLike('debian|ubuntu', systemRoot)
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
 * without. On Debian and on CI none is left out.
 *
 * @param systemRoot where the system's files are
 */
export async function ensureBrowsers({ systemRoot = '/' } = {}) {
  const missing = ENGINES.filter((engine) => !findEngine(engine, systemRoot))
  const installable = missing.filter((engine) => engine.worksHere(systemRoot))
  if (isCi() && missing.length > installable.length) fail(explainMissing(missing, systemRoot))
  if (installable.length > 0) {
    if (!isLike('debian|ubuntu', systemRoot) || process.getuid?.() !== 0)
      fail(explainMissing(installable, systemRoot))
    await install(installable)
  }
  const env = {}
  const names = []
  const leftOut = []
  for (const engine of ENGINES) {
    const found = findEngine(engine, systemRoot)
    if (found) {
      Object.assign(env, found)
      names.push(engine.name)
    } else if (engine.worksHere(systemRoot)) {
      fail(
        `${engine.called} was installed, but is not where it should be. ${explainMissing([engine], systemRoot)}`,
      )
    } else {
      leftOut.push(
        `The tests in ${engine.called} were left out: it is not here, and only Debian's packages (${engine.packages.join(', ')}) are known to work.`,
      )
    }
  }
  return { names, env, leftOut }
}
