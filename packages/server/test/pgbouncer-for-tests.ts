import { chmod, chown, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findServiceAccount } from '../src/embedded-postgres/os-account.ts'
import { debianBinary } from './debian-binary.ts'
import { freePort } from './free-port.ts'
import { startServerProcess } from './server-process.ts'

export interface TestPgbouncerOptions {
  /** The PostgreSQL behind it. */
  url: string
  /** @default 'transaction' */
  mode?: 'transaction' | 'session'
  /** Sessions with PostgreSQL. @default 20 */
  poolSize?: number
  /** Hand out the session that has rested longest, not the one used last. @default false */
  roundRobin?: boolean
}

export interface TestPgbouncer {
  url: string
  stop(): Promise<void>
}

/**
 * A PgBouncer in front of a PostgreSQL, as most hosts offer one.
 *
 * @example
 * const pooler = await startTestPgbouncer({ url: database.url })
 * afterAll(pooler.stop)
 */
export async function startTestPgbouncer(options: TestPgbouncerOptions): Promise<TestPgbouncer> {
  const binary = await debianBinary({ binary: 'pgbouncer', package: 'pgbouncer' })
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-pgbouncer-'))
  const remove = () => rm(folder, { recursive: true, force: true })
  try {
    // It refuses to run as root, and whoever runs it must be able to read its settings.
    const account = process.getuid?.() === 0 ? await findServiceAccount() : undefined
    const port = await freePort()
    const settings = join(folder, 'pgbouncer.ini')
    await writeFile(settings, settingsOf(options, port), { mode: 0o600 })
    if (account) {
      await chmod(folder, 0o755)
      await chown(settings, account.uid, account.gid)
    }
    const server = await startServerProcess({
      binary,
      port,
      args: [settings],
      ...(account && { account: { uid: account.uid, gid: account.gid } }),
    })
    const url = new URL(options.url)
    url.port = String(port)
    return {
      url: url.href,
      async stop() {
        // The gentler signals wait for its clients, in a way that differs from version to version.
        await server.stop('SIGKILL')
        await remove()
      },
    }
  } catch (error) {
    await remove()
    throw error
  }
}

function settingsOf(
  { url, mode = 'transaction', poolSize = 20, roundRobin }: TestPgbouncerOptions,
  port: number,
) {
  const { hostname, port: behind, username, password } = new URL(url)
  const login = `user='${decodeURIComponent(username)}' password='${decodeURIComponent(password)}'`
  return `
[databases]
* = host=${hostname} port=${behind} ${login}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = ${mode}
default_pool_size = ${poolSize}
server_round_robin = ${roundRobin ? 1 : 0}
max_client_conn = 200
`
}
