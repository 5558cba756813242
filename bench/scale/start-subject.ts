import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { SubjectMessage, SubjectSettings, WindowReport } from './scale-run.ts'

const ENTRY = fileURLToPath(new URL('./subject-process.ts', import.meta.url))

export interface Subject {
  /** Reports windows from then on, by this machine's clock, and resolves to the figures over all of them. */
  measure(startsAt: number, onWindow: (window: WindowReport) => Promise<void>): Promise<WindowReport>
  stop(): Promise<void>
}

export async function startSubject(settings: SubjectSettings): Promise<Subject> {
  const child = fork(ENTRY, [JSON.stringify(settings)], { execArgv: ['--conditions=holdfast-source'] })
  const died = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  const diedTooSoon = died.then((): never => {
    throw new Error('The process with the engine ended before its time; its log is above.')
  })
  // Awaited in the races below; by itself it must not end the benchmark when the process is stopped.
  diedTooSoon.catch(() => {})

  await Promise.race([
    diedTooSoon,
    new Promise<void>((resolve) => {
      child.once('message', (message: SubjectMessage) => {
        if (message.kind === 'ready') resolve()
      })
    }),
  ])
  return {
    async measure(startsAt, onWindow) {
      let reading: Promise<void> = Promise.resolve()
      const total = new Promise<WindowReport>((resolve) => {
        child.on('message', (message: SubjectMessage) => {
          if (message.kind === 'window') reading = reading.then(() => onWindow(message.window))
          if (message.kind === 'total') resolve(message.total)
        })
      })
      child.send({ startsAt })
      const figures = await Promise.race([total, diedTooSoon])
      await reading
      return figures
    },
    async stop() {
      if (child.connected) child.send('stop')
      await died
    },
  }
}
