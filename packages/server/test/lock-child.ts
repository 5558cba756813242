import { createAdvisoryLock } from '../src/locks/advisory-lock.ts'
import { createRedisLock } from '../src/locks/redis-lock.ts'

/**
 * A process that takes a lock and works under it, for tests that kill and pause it. Says each step as a line of JSON:
 * `held`, then `work` again and again, and `lost`.
 */
const { kind, name, ...settings } = JSON.parse(process.argv[2] ?? '{}')
const log = { info: () => {}, warn: () => {} }
const lock =
  kind === 'redis' ? createRedisLock({ ...settings, log }) : createAdvisoryLock({ ...settings, log })

function say(event: string): void {
  process.stdout.write(`${JSON.stringify({ event, at: Date.now() })}\n`)
}

const held = await lock.acquire(name, new AbortController().signal)
say('held')
const working = setInterval(() => {
  if (held.lost.aborted) {
    clearInterval(working)
    say('lost')
    void lock.close()
  } else {
    say('work')
  }
}, 5)
