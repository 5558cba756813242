import { execFile } from 'node:child_process'
import { chmod, chown, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import postgres from 'postgres'
import { findServiceAccount } from '../src/embedded-postgres/os-account.ts'
import { debianBinary } from './debian-binary.ts'
import { freePort } from './free-port.ts'
import { type ServerProcess, startServerProcess } from './server-process.ts'

export interface DebianPostgres {
  url: string
  /** Where its programs are, such as `pg_dump`. */
  bin: string
  /** Where its data is. */
  data: string
  /** Stops it and starts it again, on the same data and port. */
  restart(between?: () => Promise<void>): Promise<void>
  stop(): Promise<void>
}

const VERSIONS = '/usr/lib/postgresql'

/** The oldest that is installed: the embedded one is the newest. */
async function versionFolders(): Promise<string[]> {
  const versions = await readdir(VERSIONS).catch(() => [])
  return versions.sort((one, other) => Number(one) - Number(other)).map((name) => join(VERSIONS, name, 'bin'))
}

/** A cluster of its own, of the PostgreSQL that Debian has (15 in Debian 12), with the tools that belong to it. */
export async function startDebianPostgres(): Promise<DebianPostgres> {
  const binary = await debianBinary({ binary: 'postgres', package: 'postgresql', folders: versionFolders })
  const bin = dirname(binary)
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-debian-postgres-'))
  const remove = () => rm(folder, { recursive: true, force: true })
  try {
    const account = process.getuid?.() === 0 ? await findServiceAccount() : undefined
    await chmod(folder, 0o755)
    if (account) await chown(folder, account.uid, account.gid)
    const as = account && { uid: account.uid, gid: account.gid }
    const data = join(folder, 'data')
    const made = ['--pgdata', data, '--username', 'postgres', '--auth', 'trust', '--encoding', 'UTF8']
    await promisify(execFile)(join(bin, 'initdb'), [...made, '--no-locale', '--no-sync'], { cwd: '/', ...as })
    const port = await freePort()
    const url = `postgres://postgres@127.0.0.1:${port}/postgres`
    const settings = {
      listen_addresses: '127.0.0.1',
      unix_socket_directories: '',
      max_connections: '200',
      timezone: 'UTC',
      fsync: 'off',
      synchronous_commit: 'off',
      full_page_writes: 'off',
    }
    const args = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
    const launch = async () => {
      const server = await startServerProcess({
        binary,
        port,
        args: ['-D', data, '-p', String(port), ...args],
        ...(as && { account: as }),
      })
      await untilAnswers(url)
      return server
    }
    let server: ServerProcess = await launch()
    return {
      url,
      bin,
      data,
      async restart(between) {
        await server.stop('SIGINT')
        await between?.()
        server = await launch()
      },
      async stop() {
        await server.stop('SIGINT')
        await remove()
      },
    }
  } catch (error) {
    await remove()
    throw error
  }
}

/** It listens a moment before it lets anybody in. */
async function untilAnswers(url: string): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    const sql = postgres(url, { max: 1, onnotice: () => {} })
    try {
      await sql`select 1`
      return
    } catch (error) {
      if (attempt === 200) throw error
    } finally {
      await sql.end({ timeout: 1 })
    }
  }
}
