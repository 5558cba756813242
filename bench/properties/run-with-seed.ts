import { spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { PropertyReport } from '../../packages/shared/test/seed-properties.ts'

export interface SeededRun {
  reports: PropertyReport[]
  /** Vitest was not satisfied, whatever the reason. */
  failed: boolean
  /** What it printed. */
  output: string
}

const TEST_TIMEOUT_MS = 120_000

/** Runs test files once, with this seed for all properties that have none of their own. */
export async function runWithSeed(
  root: string,
  files: readonly string[],
  { seed, runs }: { seed: number; runs: number },
): Promise<SeededRun> {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-properties-'))
  const reports = join(folder, 'reports.jsonl')
  try {
    const { code, output } = await runVitest(
      root,
      ['run', `--testTimeout=${TEST_TIMEOUT_MS}`, '--reporter=default', ...files],
      { PROPERTY_SEED: String(seed), PROPERTY_RUNS: String(runs), PROPERTY_REPORTS: reports },
    )
    const lines = existsSync(reports) ? readFileSync(reports, 'utf8').split('\n').filter(Boolean) : []
    return { reports: lines.map((line) => JSON.parse(line)), failed: code !== 0, output }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

function runVitest(
  root: string,
  args: readonly string[],
  env: Record<string, string>,
): Promise<{ code: number; output: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [join(root, 'node_modules/vitest/vitest.mjs'), ...args], {
      cwd: root,
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let output = ''
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        output += text
      })
    }
    // It has a PostgreSQL to stop: we wait for it, and leave when it has.
    let told = false
    const forward = (signal: NodeJS.Signals) => {
      told = true
      child.kill(signal)
    }
    const signals = ['SIGINT', 'SIGTERM'] as const
    for (const signal of signals) process.on(signal, forward)
    const settled = () => {
      for (const signal of signals) process.off(signal, forward)
    }
    child.once('error', (error) => {
      settled()
      reject(error)
    })
    child.once('close', (code) => {
      settled()
      if (told) process.exit(1)
      resolve({ code: code ?? 1, output })
    })
  })
}
