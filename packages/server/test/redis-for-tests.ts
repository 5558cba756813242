import { debianBinary } from './debian-binary.ts'
import { freePort } from './free-port.ts'
import { type ServerProcess, startServerProcess } from './server-process.ts'

export interface TestRedis {
  url: string
  port: number
  pid(): number
  /** Without a word, as when the machine fails. Nothing it knew is kept. */
  kill(): Promise<void>
  /** After `kill`, on the same port. */
  start(): Promise<void>
  stop(): Promise<void>
}

/**
 * A Redis of its own that keeps nothing on disk.
 *
 * @example
 * const redis = await startTestRedis()
 * afterAll(redis.stop)
 */
export async function startTestRedis(): Promise<TestRedis> {
  const binary = await debianBinary({ binary: 'redis-server', package: 'redis-server' })
  const launch = (port: number) =>
    startServerProcess({
      binary,
      port,
      args: ['--bind', '127.0.0.1', '--port', String(port), '--save', '', '--appendonly', 'no'],
    })
  let port = await freePort()
  let server: ServerProcess
  try {
    server = await launch(port)
  } catch {
    // Somebody was faster in taking the port.
    port = await freePort()
    server = await launch(port)
  }
  return {
    url: `redis://127.0.0.1:${port}`,
    port,
    pid: () => server.pid,
    kill: () => server.stop('SIGKILL'),
    async start() {
      server = await launch(port)
    },
    stop: () => server.stop(),
  }
}
