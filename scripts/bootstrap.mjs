/**
 * What every script here needs before it can do its work: Node's version, the dependencies, the studio's build.
 * Runs on Node 20 with nothing installed; everything after the install runs on the workspace's own Node 24.
 */
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { constants } from 'node:os'
import { delimiter, dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const inRoot = (...path) => join(root, ...path)

export const PNPM = 'pnpm@12.18.0'
const INSTALLED = inRoot('node_modules', '.holdfast-installed')
const STUDIO = inRoot('examples', 'studio')
const STUDIO_BUILT = join(STUDIO, 'dist', '.holdfast-built')

/** Ends the script with a message that says what to do next. */
export function fail(message) {
  console.error(`\n${message}`)
  process.exit(1)
}

/** Runs one step and says how long it took. */
export async function step(doing, done, work) {
  console.log(`${doing} …`)
  const began = performance.now()
  const result = await work()
  console.log(`${done} (${((performance.now() - began) / 1000).toFixed(1)} s)`)
  return result
}

/** What npm tells its scripts about itself. Handed on, it misleads the npx and pnpm that we start in turn. */
const NPM_NOISE =
  /^npm_(package_|lifecycle_|command$|execpath$|node_execpath$|config_(local_prefix|global_prefix|npm_version|node_gyp|init_module|noproxy|user_agent)$)/

function cleanEnv(extra = {}) {
  const kept = Object.entries(process.env).filter(([name]) => !NPM_NOISE.test(name) && name !== 'INIT_CWD')
  return { ...Object.fromEntries(kept), ...extra }
}

/**
 * Runs a command and resolves with its exit code and, if asked to `capture`, its output. Signals that end us
 * end it first: we wait for it and then leave the way the signal demands.
 */
export function run(command, args, { cwd = root, env = {}, capture = false } = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      cwd,
      env: cleanEnv(env),
      stdio: capture ? ['ignore', 'pipe', 'pipe'] : 'inherit',
      shell: process.platform === 'win32' && command === 'npx',
    })
    let output = ''
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text) => {
        output += text
      })
    }
    let received
    let reminder
    const forward = (signal) => {
      if (received !== undefined) return
      received = signal
      if (signal !== 'SIGINT') child.kill(signal)
      // A Ctrl-C goes to all programs of a terminal, and a second one would mean "at once": never repeat it.
      else if (!process.stdin.isTTY) reminder = setTimeout(() => child.kill('SIGTERM'), 500)
    }
    const signals = ['SIGINT', 'SIGTERM', 'SIGHUP']
    for (const signal of signals) process.on(signal, forward)
    const stopWatching = whenParentIsGone(() => forward('SIGTERM'))
    const settled = () => {
      stopWatching()
      clearTimeout(reminder)
      for (const signal of signals) process.off(signal, forward)
    }
    child.once('error', (error) => {
      settled()
      reject(error)
    })
    child.once('close', (code, signal) => {
      settled()
      if (received && code !== 0) process.exit(128 + constants.signals[received])
      if (received) process.exit(0)
      resolve({ code: code ?? 128 + (constants.signals[signal] ?? 0), output })
    })
  })
}

/**
 * A SIGTERM to npm ends only the shell between npm and us, which tells nobody. Noticing that it is gone is the
 * one way to learn of it. Without npm our parent may rightly leave first, as with nohup.
 */
const parentAtStart = process.ppid
function whenParentIsGone(act) {
  if (!process.env.npm_lifecycle_event) return () => {}
  const timer = setInterval(() => {
    if (process.ppid !== parentAtStart) act()
  }, 200)
  return () => clearInterval(timer)
}

/** The workspace's Node 24; the machine's own if it is new enough and the other could not be installed. */
export function node24() {
  const own = inRoot('node_modules', 'node', 'bin', process.platform === 'win32' ? 'node.exe' : 'node')
  if (existsSync(own)) return own
  if (Number(process.versions.node.split('.')[0]) >= 24) return process.execPath
  return fail(
    `Node 24 is missing from node_modules. Delete the folder node_modules and try again; if your npm settings say ignore-scripts, allow scripts, or use Node 24 yourself.`,
  )
}

/** Runs a file on Node 24, where packages of the workspace mean their sources. */
export function runNode(args, options = {}) {
  const node = node24()
  const PATH = `${dirname(node)}${delimiter}${process.env.PATH ?? ''}`
  // Tests and proofs start servers by the hundred; compiled once, each starts in half the time.
  const NODE_COMPILE_CACHE = join(root, 'node_modules', '.cache', 'compiled')
  return run(node, args, { ...options, env: { PATH, NODE_COMPILE_CACHE, ...options.env } })
}

/** The JavaScript file behind a package's command, so that no shell wrapper chooses another Node. */
export function commandFile(packageName, from = root, command = packageName.split('/').pop()) {
  const home = join(from, 'node_modules', packageName)
  const { bin } = JSON.parse(readFileSync(join(home, 'package.json'), 'utf8'))
  return join(home, typeof bin === 'string' ? bin : bin[command])
}

function hashFiles(files) {
  const hash = createHash('sha256')
  for (const file of files)
    hash
      .update(`${relative(root, file)}\0`)
      .update(readFileSync(file))
      .update('\0')
  return hash.digest('hex')
}

function listFiles(folder) {
  return readdirSync(folder, { withFileTypes: true })
    .filter(
      ({ name }) => !['node_modules', 'dist'].includes(name) && !/\.(test\.tsx?|tsbuildinfo)$/.test(name),
    )
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((entry) => {
      const path = join(folder, entry.name)
      return entry.isDirectory() ? listFiles(path) : [path]
    })
}

function manifests() {
  const folders = ['packages', 'examples'].flatMap((parent) =>
    readdirSync(inRoot(parent)).map((name) => join(parent, name)),
  )
  return ['.', 'e2e', 'bench', ...folders.sort()]
    .map((folder) => inRoot(folder, 'package.json'))
    .filter((file) => existsSync(file))
}

function isCurrent(stamp, wanted) {
  return existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted
}

export async function ensureInstalled() {
  if (Number(process.versions.node.split('.')[0]) < 20) {
    fail(
      `This is Node ${process.versions.node}; Holdfast needs Node 20 or newer: https://nodejs.org/en/download`,
    )
  }
  const files = [inRoot('pnpm-lock.yaml'), inRoot('pnpm-workspace.yaml'), ...manifests()]
  const wanted = `${process.platform}-${process.arch} ${hashFiles(files)}\n`
  if (isCurrent(INSTALLED, wanted)) return
  await step('Installing dependencies, once, in about a minute', 'Dependencies installed', async () => {
    // NODE_ENV=production would leave out what tests and builds need; CI keeps pnpm from asking questions.
    const env = { NODE_ENV: 'development', CI: 'true' }
    const args = ['--loglevel=error', '--yes', PNPM, 'install', '--frozen-lockfile', '--loglevel=info']
    const { code } = await run('npx', args, { env }).catch((error) =>
      fail(`npx did not start: ${error.message}`),
    )
    if (code !== 0) {
      fail(
        `The dependencies could not be installed (see above). Check the network connection and try again; by hand: npx ${PNPM} install`,
      )
    }
  })
  node24()
  writeFileSync(INSTALLED, wanted)
}

export async function ensureStudioBuilt() {
  const folders = [STUDIO, inRoot('packages', 'client', 'src'), inRoot('packages', 'shared', 'src')]
  const wanted = `${hashFiles([inRoot('pnpm-lock.yaml'), ...folders.flatMap(listFiles)])}\n`
  if (isCurrent(STUDIO_BUILT, wanted)) return
  await step('Building the studio', 'Studio built', async () => {
    const { code, output } = await runNode([commandFile('vite', STUDIO), 'build'], {
      cwd: STUDIO,
      capture: true,
    })
    if (code !== 0) {
      fail(
        `${output}\nThe studio could not be built (see above). By hand: cd examples/studio && npx vite build`,
      )
    }
  })
  mkdirSync(dirname(STUDIO_BUILT), { recursive: true })
  writeFileSync(STUDIO_BUILT, wanted)
}
