import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'

export interface Child<Order, Answer extends { kind: string }> {
  pid: number
  ask<K extends Answer['kind']>(order: Order, kind: K): Promise<Extract<Answer, { kind: K }>>
  stop(): Promise<void>
}

/** A process of its own that answers one order at a time. */
export async function startChild<Order, Answer extends { kind: string }>(
  file: string,
  settings: unknown,
): Promise<Child<Order, Answer> & { ready: Answer }> {
  const child = fork(fileURLToPath(new URL(file, import.meta.url)), [JSON.stringify(settings)], {
    execArgv: ['--conditions=holdfast-source', '--expose-gc'],
  })
  const died = new Promise<void>((resolve) => child.once('exit', () => resolve()))

  function next(): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const onMessage = (answer: Answer) => {
        child.off('exit', onExit)
        resolve(answer)
      }
      const onExit = (code: number | null) => {
        child.off('message', onMessage)
        reject(new Error(`${file} ended with ${code}.`))
      }
      child.once('message', onMessage)
      child.once('exit', onExit)
    })
  }

  const ready = await next()
  return {
    ready,
    pid: child.pid ?? 0,
    async ask(order, kind) {
      const answer = next()
      child.send(order as object)
      const given = await answer
      if (given.kind !== kind) throw new Error(`${file} answered ${given.kind} instead of ${kind}.`)
      return given as Extract<Answer, { kind: typeof kind }>
    },
    async stop() {
      child.kill('SIGKILL')
      await died
    },
  }
}
