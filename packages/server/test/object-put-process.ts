import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { ObjectSettings } from '../src/objects/object-settings.ts'

/** Runs `object-put-child.ts` until it waits for the rest of its body; then it can be killed in the middle of a put. */
export async function startObjectPut(options: {
  settings: ObjectSettings
  key: string
  bytes: number
}): Promise<{ kill(): Promise<void> }> {
  const script = fileURLToPath(new URL('object-put-child.ts', import.meta.url))
  const child = spawn(process.execPath, ['--conditions=holdfast-source', script, JSON.stringify(options)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const exited = once(child, 'exit')
  const said = await Promise.race([once(child.stdout, 'data'), exited])
  if (!String(said[0]).startsWith('waiting'))
    throw new Error(`The process that puts ended by itself: ${said}`)
  return {
    async kill() {
      child.kill('SIGKILL')
      await exited
    },
  }
}
