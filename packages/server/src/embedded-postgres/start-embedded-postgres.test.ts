import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmod,
  chown,
  cp,
  link,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  stat,
  writeFile,
} from 'node:fs/promises'
import { createRequire } from 'node:module'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import postgres from 'postgres'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { findServiceAccount, type OsAccount } from './os-account.ts'
import { locateBinaries } from './postgres-binaries.ts'
import { inspectProcess } from './running-process.ts'
import { type EmbeddedPostgres, startEmbeddedPostgres } from './start-embedded-postgres.ts'

const isRoot = process.getuid?.() === 0
const childScript = fileURLToPath(new URL('../../test/embedded-postgres-child.ts', import.meta.url))
const settings = { fsync: 'off' }

type Facts = Omit<EmbeddedPostgres, 'stop'>

let shared: string
let folder: string
let dataDir: string
let systemDir: string
let children: ChildProcess[]
let serverPids: Set<number>

// Run by root from a closed folder, every test would otherwise make its own copy of the binaries.
beforeAll(async () => {
  shared = await mkdtemp(join(tmpdir(), 'holdfast-postgres-'))
  await chmod(shared, 0o755)
})

afterAll(() => rm(shared, { recursive: true, force: true }))

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdfast-postgres-'))
  await chmod(folder, 0o755)
  dataDir = join(folder, 'data')
  systemDir = join(shared, 'system')
  children = []
  serverPids = new Set()
})

afterEach(async () => {
  for (const child of children) child.kill('SIGKILL')
  const left = []
  for (const pid of serverPids) if (await inspectProcess(pid)) left.push(pid)
  for (const pid of left) process.kill(pid, 'SIGQUIT')
  await rm(folder, { recursive: true, force: true, maxRetries: 20 })
  expect(left, 'servers left running').toEqual([])
})

async function start(options: Partial<Parameters<typeof startEmbeddedPostgres>[0]> = {}) {
  const server = await startEmbeddedPostgres({ dataDir, systemDir, settings, ...options })
  serverPids.add(server.pid)
  return server
}

interface ChildOptions {
  node?: string
  script?: string
  account?: OsAccount
  afterwards?: string
}

function startChild({
  node = process.execPath,
  script = childScript,
  account,
  afterwards = '',
}: ChildOptions = {}) {
  const child = spawn(node, ['--conditions=holdfast-source', script, dataDir, systemDir, afterwards], {
    cwd: '/',
    ...(account && { uid: account.uid, gid: account.gid }),
  })
  children.push(child)
  let said = ''
  let complaint = ''
  child.stdout.on('data', (chunk) => {
    said += chunk
  })
  child.stderr.on('data', (chunk) => {
    complaint += chunk
  })
  const ended = once(child, 'close')
  const facts = async (): Promise<Facts> => {
    await vi.waitUntil(() => said.includes('\n') || child.exitCode !== null, { timeout: 15_000 })
    if (!said.includes('\n')) throw new Error(complaint)
    const parsed = JSON.parse(said) as Facts
    serverPids.add(parsed.pid)
    return parsed
  }
  return { child, facts, ended }
}

async function query<T>(url: string, run: (sql: postgres.Sql) => PromiseLike<T>): Promise<T> {
  const sql = postgres(url, { max: 1, onnotice: () => {} })
  try {
    return await run(sql)
  } finally {
    await sql.end()
  }
}

const remember = (url: string) => query(url, (sql) => sql`create table kept as select 7 as number`)
const recall = (url: string) => query(url, async (sql) => (await sql`select number from kept`)[0]?.number)

describe('a server of our own', () => {
  it('keeps its data over a restart and leaves no process behind', async () => {
    const first = await start()
    await remember(first.url)
    await first.stop()
    expect(await inspectProcess(first.pid)).toBeNull()

    const second = await start()
    expect(second.reused).toBe(false)
    expect(await recall(second.url)).toBe(7)
    await second.stop()
    await second.stop()
  })

  it('speaks UTF-8, sorts alike everywhere and has room for 200 connections', async () => {
    const server = await start({ settings: { ...settings, work_mem: '5MB' } })
    const facts = await query(
      server.url,
      (sql) => sql`
        select pg_encoding_to_char(encoding) as encoding, datlocale, current_setting('max_connections') as connections,
          current_setting('work_mem') as work_mem, current_setting('fsync') as fsync
        from pg_database where datname = current_database()`,
    )
    expect(facts[0]).toEqual({
      encoding: 'UTF8',
      datlocale: 'C.UTF-8',
      connections: '200',
      work_mem: '5MB',
      fsync: 'off',
    })
    await server.stop()
  })

  it('lets nobody in without the password, which only its owner can read', async () => {
    const server = await start()
    const url = new URL(server.url)
    url.password = 'guessed'
    await expect(query(url.href, (sql) => sql`select 1`)).rejects.toMatchObject({ code: '28P01' })
    expect((await stat(join(server.home, 'postgresql', 'password'))).mode & 0o777).toBe(0o600)
    await server.stop()
  })

  it('names the taken port and shows the log', async () => {
    const squatter = createServer().listen(0, '127.0.0.1')
    await once(squatter, 'listening')
    const { port } = squatter.address() as { port: number }
    await expect(start({ port })).rejects.toThrow(
      new RegExp(`Port ${port} is taken[^]*server.log[^]*Address already in use`),
    )
    squatter.close()
    await once(squatter, 'close')

    const server = await start({ port })
    expect(new URL(server.url).port).toBe(String(port))
    await server.stop()
  })

  it('shows what PostgreSQL says about a setting it does not know', async () => {
    await expect(start({ settings: { no_such_setting: 'on' } })).rejects.toThrow(
      /unrecognized.*no_such_setting/,
    )
  })

  it('says what to do when the data folder cannot be made', async () => {
    await writeFile(join(folder, 'file'), '')
    await expect(start({ dataDir: join(folder, 'file', 'data') })).rejects.toThrow(
      /cannot be made.*ENOTDIR.*Choose another one/,
    )
  })

  it('refuses data of another PostgreSQL version', async () => {
    const server = await start()
    await server.stop()
    await writeFile(join(server.home, 'postgresql', 'data', 'PG_VERSION'), '12\n')
    await expect(start()).rejects.toThrow(/is PostgreSQL 12's, this is PostgreSQL \d+/)
  })
})

describe('when the process that started it', () => {
  it('was killed, the next one takes the server over, and can stop it', async () => {
    const { child, facts, ended } = startChild()
    const orphan = await facts()
    await remember(orphan.url)
    child.kill('SIGKILL')
    await ended
    expect(await inspectProcess(orphan.pid)).not.toBeNull()

    const server = await start()
    expect(server).toMatchObject({ reused: true, pid: orphan.pid, url: orphan.url })
    expect(await recall(server.url)).toBe(7)
    await server.stop()
    expect(await inspectProcess(orphan.pid)).toBeNull()
  })

  it('was killed, a start that wants other settings ends the orphan and begins anew on its data', async () => {
    const { child, facts, ended } = startChild()
    const orphan = await facts()
    await remember(orphan.url)
    child.kill('SIGKILL')
    await ended

    const server = await start({ settings: { ...settings, work_mem: '5MB' } })
    expect(server.reused).toBe(false)
    expect(await inspectProcess(orphan.pid)).toBeNull()
    expect(await recall(server.url)).toBe(7)
    await server.stop()
  })

  it('was killed together with the server, the next one recovers', async () => {
    const { child, facts, ended } = startChild()
    const server = await facts()
    await remember(server.url)
    child.kill('SIGKILL')
    process.kill(server.pid, 'SIGKILL')
    await ended

    const next = await start()
    expect(next.reused).toBe(false)
    expect(await recall(next.url)).toBe(7)
    await next.stop()
  })

  it('was killed, and a stranger got the pid of its server, the next one starts all the same', async () => {
    const first = await start()
    await remember(first.url)
    const lock = join(first.home, 'postgresql', 'data', 'postmaster.pid')
    const text = await readFile(lock, 'utf8')
    await first.stop()
    // PostgreSQL only believes in strangers of its own user.
    const user = isRoot ? await findServiceAccount() : undefined
    const stranger = spawn('sleep', ['60'], user && { uid: user.uid, gid: user.gid })
    children.push(stranger)
    await writeFile(lock, text.replace(String(first.pid), String(stranger.pid)))

    const next = await start()
    expect(next.reused).toBe(false)
    expect(await recall(next.url)).toBe(7)
    await next.stop()
  })

  it('was killed while preparing the data, the next one prepares it anew', async () => {
    const { child, ended } = startChild()
    const drafts = async () => (await readdir(dataDir)).filter((name) => name.startsWith('postgresql.new-'))
    await vi.waitUntil(async () => (await drafts().catch(() => [])).length > 0, {
      interval: 2,
      timeout: 10_000,
    })
    child.kill('SIGKILL')
    await ended
    expect(await readdir(dataDir)).not.toContain('postgresql')

    const server = await start()
    await remember(server.url)
    await server.stop()
    expect(await drafts()).toEqual([])
  })

  it('is alive and uses the server, a second start is refused and disturbs nothing', async () => {
    const { child, facts, ended } = startChild()
    const first = await facts()
    await expect(start()).rejects.toThrow(`in use by process ${child.pid}`)
    expect(await query(first.url, async (sql) => (await sql`select 1 as one`)[0]?.one)).toBe(1)
    child.kill('SIGTERM')
    await ended
    expect(await inspectProcess(first.pid)).toBeNull()
  })

  it('is this very one, a second start is refused as well', async () => {
    const server = await start()
    await expect(start()).rejects.toThrow('in use by this very process')
    await server.stop()
  })

  it('leaves without stopping it, it goes down all the same', async () => {
    const { facts, ended } = startChild({ afterwards: 'exit' })
    const server = await facts()
    await ended
    await vi.waitUntil(async () => (await inspectProcess(server.pid)) === null, { timeout: 10_000 })
  })

  it('has a twin that starts at the same moment, one of them wins and the other is refused', async () => {
    const twins = [startChild(), startChild()]
    const outcomes = await Promise.allSettled(twins.map(({ facts }) => facts()))
    expect(outcomes.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
    expect(outcomes.find(({ status }) => status === 'rejected')).toMatchObject({
      reason: { message: expect.stringContaining('in use by process') },
    })
    for (const { child } of twins) child.kill('SIGTERM')
    await Promise.all(twins.map(({ ended }) => ended))
  })
})

/** A clone with nothing but what the embedded server needs, in a folder only its owner can enter. */
async function makeClosedClone(owner?: OsAccount) {
  const clone = join(folder, 'closed', 'clone')
  const nodeModules = join(clone, 'node_modules')
  const binaries = locateBinaries()
  const resolved = (name: string) => createRequire(import.meta.url).resolve(name)
  const copies: [string, string][] = [
    [dirname(fileURLToPath(import.meta.url)), join(clone, 'src', 'embedded-postgres')],
    [childScript, join(clone, 'test', 'child.ts')],
    [join(dirname(resolved('postgres')), '..'), join(nodeModules, 'postgres')],
    [join(dirname(resolved('embedded-postgres')), '..'), join(nodeModules, 'embedded-postgres')],
    [join(binaries.root, '..'), join(nodeModules, '@embedded-postgres', binaries.platform)],
  ]
  for (const [from, to] of copies) await cp(from, to, { recursive: true, verbatimSymlinks: true })
  const node = join(clone, 'node')
  await link(process.execPath, node).catch(() => cp(process.execPath, node))
  await writeFile(join(clone, 'package.json'), '{ "type": "module" }')
  await chmod(join(folder, 'closed'), 0o700)
  if (owner) await giveTo(join(folder, 'closed'), owner)
  dataDir = join(clone, '.holdfast')
  systemDir = join(folder, 'system')
  return { node, script: join(clone, 'test', 'child.ts') }
}

async function giveTo(path: string, owner: OsAccount): Promise<void> {
  await chown(path, owner.uid, owner.gid)
  await chown(join(path, 'clone'), owner.uid, owner.gid)
}

/** Starts twice from the clone, as an owner would; returns where the data turned out to be. */
async function startTwice(clone: ChildOptions): Promise<Facts> {
  const first = startChild(clone)
  const before = await first.facts()
  await remember(before.url)
  first.child.kill('SIGTERM')
  await first.ended

  const second = startChild(clone)
  const after = await second.facts()
  expect(await recall(after.url)).toBe(7)
  second.child.kill('SIGTERM')
  await second.ended
  expect(after.home).toBe(before.home)
  expect(await inspectProcess(after.pid)).toBeNull()
  return after
}

describe('in a folder of mode 0700', () => {
  it('a plain user has everything in that folder', async () => {
    const account = isRoot ? { ...(await findServiceAccount()), name: 'plain' } : undefined
    const clone = await makeClosedClone(account)
    const { home } = await startTwice({ ...clone, ...(account && { account }) })
    expect(home).toBe(dataDir)
    expect(await readdir(dataDir)).toEqual(['postgresql'])
    await expect(stat(systemDir)).rejects.toThrow('ENOENT')
  })

  if (isRoot) {
    it('root has binaries and data where the account that runs PostgreSQL can reach them', async () => {
      const clone = await makeClosedClone()
      const { home } = await startTwice(clone)
      expect(dirname(home)).toBe(systemDir)
      expect(await readdir(dataDir)).toEqual(['data-is-elsewhere.txt'])
      expect(await readFile(join(dataDir, 'data-is-elsewhere.txt'), 'utf8')).toContain(home)

      // Opening the folder later must not make the data seem gone.
      await chmod(join(folder, 'closed'), 0o755)
      expect((await startOnceMore(clone)).home).toBe(home)
    })

    it('root can go on with the data of a plain user, and that user after root', async () => {
      const account = await findServiceAccount()
      const clone = { ...(await makeClosedClone(account)), account }
      await startTwice(clone)
      const { account: _, ...asRoot } = clone
      await startOnceMore(asRoot)
      await startOnceMore(clone)
    })

    it('says what to do when there is nowhere else to go', async () => {
      await writeFile(join(folder, 'file'), '')
      systemDir = join(folder, 'file', 'system')
      await mkdir(join(folder, 'closed'), { mode: 0o700 })
      await expect(start({ dataDir: join(folder, 'closed', 'data') })).rejects.toThrow(
        /cannot run as root.*EEXIST.*Start as a plain user/,
      )
    })
  } else {
    it('a plain user is told when the data is root’s', async () => {
      await mkdir(dataDir)
      await writeFile(join(dataDir, 'data-is-elsewhere.txt'), `${systemDir}\n`)
      await expect(start()).rejects.toThrow(/made by root.*Start as root/)
    })
  }
})

async function startOnceMore(clone: ChildOptions): Promise<Facts> {
  const { child, facts, ended } = startChild(clone)
  const found = await facts()
  expect(await recall(found.url)).toBe(7)
  child.kill('SIGTERM')
  await ended
  return found
}
