import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const ENTRY = fileURLToPath(new URL('./source-process.ts', import.meta.url))

export async function startSource(): Promise<{ url: string; stop(): Promise<void> }> {
  const child = fork(ENTRY)
  const died = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  const port = await new Promise<number>((resolve, reject) => {
    child.once('message', (message: { port: number }) => resolve(message.port))
    child.once('error', reject)
    void died.then(() => reject(new Error('The source of the benchmark ended while starting.')))
  })
  return {
    url: `http://127.0.0.1:${port}`,
    async stop() {
      child.kill()
      await died
    },
  }
}
