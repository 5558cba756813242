import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { FAILURE_CODES, PROBLEMS } from '@holdfast/shared'
import { afterEach, describe, expect, it } from 'vitest'
import { freePort } from '../test/free-port.ts'
import { createTestDatabase } from '../test/test-database.ts'
import { signToken, TEST_SECRET } from '../test/test-tokens.ts'
import { ENVIRONMENT } from './config.ts'

const root = fileURLToPath(new URL('../../../', import.meta.url))
const read = (path: string) => readFile(join(root, path), 'utf8')
const guides = [
  'README.md',
  ...(await readdir(join(root, 'docs'))).filter((name) => name.endsWith('.md')).map((name) => `docs/${name}`),
]

const cleanups: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const clean of cleanups.splice(0).reverse()) await clean()
})

/** The first block of this language in the README. */
async function snippet(language: string): Promise<string> {
  const [, code = ''] = new RegExp(`\`\`\`${language}\n(.*?)\`\`\``, 's').exec(await read('README.md')) ?? []
  expect(code).not.toBe('')
  return code
}

/** Inside of a package, since there its own name leads to its sources; and where git and the other tools do not look. */
async function place(name: 'server' | 'client', file: string, code: string): Promise<string> {
  const folder = join(root, 'packages', name, 'dist', `snippet-${process.pid}`)
  await mkdir(folder, { recursive: true })
  cleanups.push(() => rm(folder, { recursive: true, force: true }))
  await writeFile(join(folder, file), code)
  return join(folder, file)
}

async function run(args: string[], env: NodeJS.ProcessEnv = process.env) {
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'], env })
  const said = { text: '' }
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (said.text += chunk))
  return { child, said, ended: once(child, 'exit') }
}

const SERVER_WORLD = `
declare const env: Record<'DATABASE_URL' | 'SUPABASE_JWT_SECRET' | 'KIE_API_KEY' | 'FILES_DIR' | 'PUBLIC_URL' | 'FILES_SECRET', string>
`
const CLIENT_WORLD = `
import type { Task } from '@holdfast/client'
declare const user: { id: string }
declare const session: { accessToken: string; renew(): Promise<string> }
declare function Card(props: { task: Task }): React.ReactNode
`

describe('the README', () => {
  it('has two samples that compile as they stand', { timeout: 120_000 }, async () => {
    const files = [
      await place('server', 'sample.ts', SERVER_WORLD + (await snippet('ts'))),
      await place(
        'client',
        'sample.tsx',
        CLIENT_WORLD +
          (await snippet('tsx'))
            .replace('function Gallery', 'export function Gallery')
            .replace('// <Holdfast', 'export const app = <Holdfast'),
      ),
    ]
    const config = await place(
      'server',
      'tsconfig.json',
      JSON.stringify({
        extends: join(root, 'tsconfig.tests.json'),
        compilerOptions: {
          types: ['node', 'react'],
          typeRoots: [join(root, 'node_modules/@types'), join(root, 'packages/client/node_modules/@types')],
        },
        include: [],
        files,
        references: [],
      }),
    )
    const { said, ended } = await run([join(root, 'node_modules/typescript/bin/tsc'), '-p', config])
    const [code] = await ended
    expect(said.text).toBe('')
    expect(code).toBe(0)
  })

  it('has a server that runs, keeps results and lets the page in', { timeout: 120_000 }, async () => {
    const database = await createTestDatabase()
    const folder = await mkdtemp(join(tmpdir(), 'holdfast-readme-'))
    const port = await freePort()
    const code = (await snippet('ts')).replaceAll('8787', String(port))
    const file = await place('server', 'sample.ts', `const { env } = process\n${code}`)
    const { child, ended, said } = await run(['--conditions=holdfast-source', file], {
      PATH: process.env.PATH,
      DATABASE_URL: database.url,
      SUPABASE_JWT_SECRET: TEST_SECRET,
      KIE_API_KEY: 'a-key-of-kie',
      FILES_DIR: join(folder, 'files'),
      FILES_SECRET: 'a secret that signs URLs',
      PUBLIC_URL: `http://127.0.0.1:${port}`,
    })
    cleanups.push(
      () => database.drop(),
      () => rm(folder, { recursive: true, force: true }),
      async () => {
        child.kill('SIGKILL')
        await ended
      },
    )
    const ready = () =>
      fetch(`http://127.0.0.1:${port}/readyz`).then(
        ({ status }) => status,
        () => said.text,
      )
    await expect.poll(ready, { timeout: 60_000 }).toBe(200)
    expect((await stat(join(folder, 'files', 'objects'))).isDirectory()).toBe(true)
    const origin = 'https://app.example.com'
    const authorization = `Bearer ${await signToken('ada')}`
    const listed = await fetch(`http://127.0.0.1:${port}/v1/tasks`, { headers: { origin, authorization } })
    expect(listed.status).toBe(200)
    expect(listed.headers.get('access-control-allow-origin')).toBe(origin)
  })
})

describe('the guides', () => {
  it('list every code of an answer beside its status, and every reason why a task fails', async () => {
    const guide = await read('docs/SERVER.md')
    for (const [code, { status }] of Object.entries(PROBLEMS)) {
      const row = guide
        .split('\n')
        .find((line) => new RegExp(`^\\| [0-9, ]*\\b${status}\\b[0-9, ]* \\| .*\`${code}\``).test(line))
      expect(row, `${status} ${code}`).toBeDefined()
    }
    const reasons = guide.split('\n').find((line) => line.startsWith('Why a task failed'))
    for (const code of FAILURE_CODES) expect(reasons).toContain(`\`${code}\``)
  })

  it('name every setting', async () => {
    const text = (await Promise.all(guides.map(read))).join('\n')
    const names = ENVIRONMENT.flatMap(([name]) => name.split(', '))
    expect(names.filter((name) => !text.includes(`\`${name}`) && !text.includes(`${name}=`))).toEqual([])
  })

  it('say why each dependency is there, and what each folder is', async () => {
    const guide = await read('docs/ARCHITECTURE.md')
    for (const name of ['shared', 'client', 'server']) {
      const { dependencies = {}, optionalDependencies = {} } = JSON.parse(
        await read(`packages/${name}/package.json`),
      )
      const foreign = Object.keys({ ...dependencies, ...optionalDependencies }).filter(
        (each) => !each.startsWith('@holdfast/'),
      )
      for (const each of foreign) expect(guide, each).toMatch(new RegExp(`^\\| .*\`${each}\`.* \\|`, 'm'))
      const entries = await readdir(join(root, 'packages', name, 'src'), { withFileTypes: true })
      for (const entry of entries.filter((each) => each.isDirectory())) {
        const row = new RegExp(`^\\| \`packages/${name}/src/(?:[a-z-]+\`, \`)*${entry.name}\``, 'm')
        expect(guide, `packages/${name}/src/${entry.name}`).toMatch(row)
      }
    }
  })

  it.each(guides)('%s has no table that is cut in two', async (path) => {
    const lines = (await read(path)).split('\n')
    const cut = lines.filter(
      (line, at) =>
        line.startsWith('|') &&
        !lines[at - 1]?.startsWith('|') &&
        !/^\|[\s:|-]+\|$/.test(lines[at + 1] ?? ''),
    )
    expect(cut).toEqual([])
  })
})
