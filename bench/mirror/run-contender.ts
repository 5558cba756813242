import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { ContenderReport, ContenderSettings } from './settings.ts'

const ENTRY = fileURLToPath(new URL('./contender-process.ts', import.meta.url))
const WITHIN_MS = 10 * 60_000

/** Runs one contender in a fresh process. */
export async function runContender(settings: ContenderSettings): Promise<ContenderReport> {
  const child = spawn(process.execPath, ['--conditions=holdfast-source', ENTRY, JSON.stringify(settings)], {
    stdio: ['ignore', 'pipe', 'inherit'],
    timeout: WITHIN_MS,
    killSignal: 'SIGKILL',
  })
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
    throw new Error(`${settings.contender} did not finish (it ended with ${end}). What it said is above.`)
  }
  return JSON.parse(last) as ContenderReport
}
