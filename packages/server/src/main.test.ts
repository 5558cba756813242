import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { nodeProblem } from './node-version.ts'

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url))

async function run(args: string[], env: Record<string, string> = {}) {
  const child = spawn(process.execPath, ['--conditions=holdfast-source', ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: process.env.PATH ?? '', ...env },
  })
  const [out, error, code] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    new Promise((resolve) => child.once('exit', resolve)),
  ])
  return { out, error, code }
}

/** Run first: it claims to be an older Node, and cries out as soon as undici is evaluated, which that one cannot do. */
const asOldNode = (version: string) => {
  const source = `
    import Module from 'node:module'
    const versions = { ...process.versions, node: '${version}' }
    Object.defineProperty(process, 'versions', { value: versions })
    const load = Module._load
    Module._load = function (request, ...rest) {
      if (/undici.index\\.js$/.test(request)) throw new Error('undici was evaluated')
      return load.call(this, request, ...rest)
    }`
  return `data:text/javascript,${encodeURIComponent(source)}`
}

const SENTENCE = 'Holdfast needs Node 22.19 or newer; this is v20.20.2.'

test.each(['dev', 'serve', 'migrate', 'simulate'])(
  '%s on an old Node says so in one sentence',
  async (name) => {
    const { out, error, code } = await run(['--import', asOldNode('20.20.2'), here('./main.ts'), name])
    expect({ out, error, code }).toEqual({ out: '', error: `holdfast: ${SENTENCE}\n`, code: 1 })
  },
)

test('the packages say the same to an app that imports them', async () => {
  for (const entry of ['./index.ts', './simulators.ts']) {
    const { error, code } = await run(['--import', asOldNode('20.20.2'), here(entry)])
    expect(error).toContain(SENTENCE)
    expect(error).not.toContain('undici was evaluated')
    expect(code).toBe(1)
  }
  // On a Node that is new enough, undici is what comes next.
  const { error } = await run(['--import', asOldNode('22.19.0'), here('./index.ts')])
  expect(error).toContain('undici was evaluated')
})

test.each([
  ['22.19.0', true],
  ['22.18.9', false],
  ['21.99.0', false],
  ['23.0.0', true],
  ['24.21.0', true],
  ['100.0.0', true],
])('Node %s is new enough: %s', (version, isEnough) => {
  expect(nodeProblem(version) === null).toBe(isEnough)
})

test('the package asks for the Node that its dependencies need', () => {
  const undici = createRequire(import.meta.url)('undici/package.json')
  const own = JSON.parse(readFileSync(here('../package.json'), 'utf8'))
  expect(own.engines.node).toBe(undici.engines.node)
  expect(nodeProblem(own.engines.node.replace(/^\D+/, ''))).toBeNull()
})

test('packages that the server is installed with ask for the same Node', () => {
  const read = (path: string) => JSON.parse(readFileSync(here(path), 'utf8'))
  const own = read('../package.json')
  const ours = Object.keys(own.dependencies).filter((name) => name.startsWith('@holdfast/'))
  expect(ours).toContain('@holdfast/shared')
  for (const name of ours) {
    const { engines } = read(`../../${name.replace('@holdfast/', '')}/package.json`)
    expect(engines, name).toEqual(own.engines)
  }
})

test('a wrong command is two lines on standard error and exit 2', async () => {
  const { out, error, code } = await run([here('./main.ts'), 'sevre'])
  expect({ out, code }).toEqual({ out: '', code: 2 })
  expect(error).toBe(
    'holdfast: There is no command "sevre". Did you mean "serve"?\n"holdfast --help" lists the commands.\n',
  )
})

test('the version is on standard output', async () => {
  const { out, code } = await run([here('./main.ts'), '--version'])
  const { version } = JSON.parse(readFileSync(here('../package.json'), 'utf8'))
  expect({ out, code }).toEqual({ out: `${version}\n`, code: 0 })
})
