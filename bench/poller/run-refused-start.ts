import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { startTestPgbouncer } from '../../packages/server/test/pgbouncer-for-tests.ts'
import { createFindings, type Finding } from './finding.ts'
import type { PollerLab } from './poller-lab.ts'

const MAIN = fileURLToPath(new URL('../../packages/server/src/main.ts', import.meta.url))
const MESSAGE = 'The database is reached through a pooler in transaction mode'
const ADVICE = ['DIRECT_URL', 'LOCK=redis', 'LOCK=none']

/** `holdfast serve` with the advisory lock behind PgBouncer in transaction mode refuses to start, and says what to set. */
export async function runRefusedStart(lab: PollerLab): Promise<Finding[]> {
  const found = createFindings('refused start')
  const stage = await lab.openStage({ lock: 'none', replicas: 0, limits: {} })
  const pooler = await startTestPgbouncer({ url: stage.databaseUrl }).catch(async (error: unknown) => {
    await stage.close()
    throw error
  })
  try {
    const { code, said } = await serve(pooler.url)
    found.equal('exit code', code ?? 'still running', 1)
    found.equal('it says why', String(said.includes(MESSAGE)), 'true')
    found.equal('and what to set', ADVICE.filter((name) => said.includes(name)).join(' '), ADVICE.join(' '))
    return found.all
  } finally {
    await pooler.stop()
    await stage.close()
  }
}

function serve(databaseUrl: string): Promise<{ code: number | null; said: string }> {
  const child = spawn(process.execPath, ['--conditions=holdfast-source', MAIN, 'serve', '--port', '0'], {
    env: {
      DATABASE_URL: databaseUrl,
      LOCK: 'advisory',
      KIE_API_KEY: 'poller-key',
      JWT_SECRET: 'a secret that is long enough for HS256',
    },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: 30_000,
    killSignal: 'SIGKILL',
  })
  let said = ''
  child.stderr.on('data', (chunk: Buffer) => {
    said += chunk
  })
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => resolve({ code, said }))
  })
}
