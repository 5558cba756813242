import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { PassReport } from './measure-passes.ts'
import type { ContenderSettings } from './settings.ts'

const ENTRY = fileURLToPath(new URL('./contender-process.ts', import.meta.url))
const WITHIN_MS = 5 * 60_000

/** Runs one contender in a fresh process. `nodeArgs` are for looking closer, such as `--cpu-prof`. */
export async function runContender(
  settings: ContenderSettings,
  nodeArgs: readonly string[] = [],
): Promise<PassReport> {
  const child = spawn(
    process.execPath,
    ['--conditions=holdfast-source', ...nodeArgs, ENTRY, JSON.stringify(settings)],
    { stdio: ['ignore', 'pipe', 'inherit'], timeout: WITHIN_MS, killSignal: 'SIGKILL' },
  )
  let out = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text
  })
  const end = await new Promise<string | number>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code, signal) => resolve(signal ?? code ?? 1))
  })
  const last = out.trim().split('\n').at(-1) ?? ''
  if (end !== 0 || !last.startsWith('{')) {
    const why = end === 'SIGKILL' ? `killed, perhaps after its ${WITHIN_MS / 1_000} s` : `ended with ${end}`
    throw new Error(`${settings.contender} did not finish (${why}). What it said is above. ${last}`)
  }
  return JSON.parse(last) as PassReport
}
