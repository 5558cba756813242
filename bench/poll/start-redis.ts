import { spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'

/** A Redis that keeps nothing on disk, which is to BullMQ's advantage: PostgreSQL here writes every commit. */
export async function startRedis(): Promise<{ port: number; pid: number; stop(): Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-bench-redis-'))
  const port = await freePort()
  const child = spawn(
    'redis-server',
    ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no', '--dir', folder],
    { stdio: 'ignore' },
  )
  const died = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  const failed = new Promise<never>((_, reject) => {
    child.once('error', (cause) =>
      reject(
        new Error('redis-server could not be started. Install it (apt install redis-server).', { cause }),
      ),
    )
  })
  const redis = new Redis({ port, host: '127.0.0.1', retryStrategy: () => 50, maxRetriesPerRequest: 100 })
  redis.on('error', () => {
    // Refused until it listens; the ping below gives up when that takes too long.
  })
  try {
    await Promise.race([redis.ping(), failed])
  } finally {
    redis.disconnect()
  }
  return {
    port,
    pid: child.pid ?? 0,
    async stop() {
      child.kill()
      await died
      await rm(folder, { recursive: true, force: true })
    },
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
