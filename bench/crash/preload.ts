import { appendFileSync, readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import type { Moment, Orders, ServerProcessSettings } from './orders.ts'

/**
 * Loaded before a server (`node --import`): swaps in the instrumented sources and answers their calls. The product
 * knows nothing of it.
 */
const { orders }: ServerProcessSettings = JSON.parse(process.argv[2] ?? '{}')
if (orders) follow(orders)

function follow({ sourcesFile, armAt, recordFile, kill }: Orders): void {
  const sources: Record<string, string> = JSON.parse(readFileSync(sourcesFile, 'utf8'))
  let armed = false
  let hits = 0

  registerHooks({
    load(url, context, next) {
      const source = sources[url]
      return source === undefined ? next(url, context) : { format: 'module', source, shortCircuit: true }
    },
  })

  function isDue(point: string, moment: Moment): boolean {
    return armed && kill?.point === point && kill.moment === moment && ++hits === kill.hit
  }

  const crash = {
    before(point: string): void {
      armed ||= point.startsWith(armAt)
      if (armed && recordFile) appendFileSync(recordFile, `${point}\n`)
      if (isDue(point, 'before')) die()
    },
    during<T>(point: string, asked: T): T {
      if (isDue(point, 'during')) {
        // Queries of postgres.js are sent when somebody waits for them, in the turn of the loop after that.
        if (isThenable(asked)) asked.then(ignore, ignore)
        setImmediate(() => setImmediate(() => setImmediate(die)))
      }
      return asked
    },
    after<T>(point: string, answer: T): T {
      if (isDue(point, 'after')) die()
      return answer
    },
  }
  Object.assign(globalThis, { __crash: crash })
}

function die(): void {
  process.kill(process.pid, 'SIGKILL')
}

function ignore(): void {}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function'
}
