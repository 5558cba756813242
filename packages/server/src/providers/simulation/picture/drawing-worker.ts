import { Worker } from 'node:worker_threads'

export interface Drawing {
  prompt: string
  /** Tells several results of one prompt apart. */
  variant: number
  width: number
  height: number
}

type Answer = { id: number; png: Uint8Array } | { id: number; error: string }

/**
 * Draws on a thread of its own, started with the first picture: a few hundred milliseconds of arithmetic would
 * stop every other request of the process.
 */
export function openDrawingWorker() {
  // Run from its source in development and from `dist` when installed; the compiler rewrites imports only.
  const file = import.meta.url.endsWith('.ts')
    ? new URL('./draw-in-worker.ts', import.meta.url)
    : new URL('./draw-in-worker.js', import.meta.url)
  const waiting = new Map<number, { resolve: (png: Uint8Array) => void; reject: (error: Error) => void }>()
  let worker: Worker | undefined
  let lastId = 0

  const failAll = (message: string) => {
    for (const { reject } of waiting.values()) reject(new Error(message))
    waiting.clear()
    worker = undefined
  }
  const start = () => {
    const started = new Worker(file, { execArgv: [], name: 'simulated-pictures' })
    started.unref()
    started.on('message', (answer: Answer) => {
      const caller = waiting.get(answer.id)
      waiting.delete(answer.id)
      if ('png' in answer) caller?.resolve(answer.png)
      else caller?.reject(new Error(answer.error))
    })
    started.on('error', (error) => failAll(`The picture could not be drawn: ${error.message}`))
    started.on('exit', () => failAll('The picture was not drawn: the simulator is closing'))
    return started
  }

  return {
    draw(drawing: Drawing): Promise<Uint8Array> {
      worker ??= start()
      const id = ++lastId
      const drawn = new Promise<Uint8Array>((resolve, reject) => waiting.set(id, { resolve, reject }))
      worker.postMessage({ id, drawing })
      return drawn
    },
    async close() {
      await worker?.terminate()
    },
  }
}
