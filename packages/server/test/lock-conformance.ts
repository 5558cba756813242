import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Held, Lock } from '../src/locks/lock.ts'
import { type CuttableProxy, startCuttableProxy } from './cuttable-proxy.ts'
import { type LockProcess, startLockProcess } from './lock-process.ts'

/** What a test file says about the lock it has. */
export interface LockWorld {
  kind: 'advisory' | 'redis'
  /** Where its server is. */
  url: string
  create(options: { url: string; ttlMs: number; retryMs: number }): Lock
  /** Makes the server forget who holds what, without a word to the holders. */
  forget(): Promise<void>
  /** How soon after the death of its holder somebody else has the lock. */
  freeAfterDeathMs(ttlMs: number): number
  stop(): Promise<void>
}

const never = () => new AbortController().signal

/** What holds for every lock, also for none. */
export function describeAnyLock(name: string, create: () => Lock | Promise<Lock>): void {
  describe(`${name} as any lock`, () => {
    let lock: Lock
    beforeEach(async () => {
      lock = await create()
    })
    afterEach(() => lock.close())

    it('is held until it is released, which may be said twice', async () => {
      const held = await lock.acquire('a', never())
      expect(held.lost.aborted).toBe(false)
      await held.release()
      await held.release()
      expect(held.lost.aborted).toBe(false)
      await (await lock.acquire('a', never())).release()
    })

    it('gives a caller who has given up nothing but their own reason', async () => {
      const reason = new Error('changed my mind')
      await expect(lock.acquire('a', AbortSignal.abort(reason))).rejects.toBe(reason)
    })

    it('holds several names at once', async () => {
      const both = await Promise.all([lock.acquire('a', never()), lock.acquire('b', never())])
      expect(both.map((held) => held.lost.aborted)).toEqual([false, false])
    })

    it('tells its holders when it is closed, and turns away who comes later', async () => {
      const held = await lock.acquire('a', never())
      const { lost } = held
      await Promise.all([lock.close(), lock.close()])
      expect(lost.aborted).toBe(true)
      await held.release()
      await expect(lock.acquire('a', never())).rejects.toThrow('closed')
    })
  })
}

/** What holds for every lock that lets in one at a time (P3). */
export function describeLock(name: string, setup: () => Promise<LockWorld>): void {
  let world: LockWorld
  const locks: Lock[] = []
  const processes: LockProcess[] = []
  const proxies: CuttableProxy[] = []
  let sequence = 0
  let key = ''

  beforeAll(async () => {
    world = await setup()
  })
  beforeEach(() => {
    key = `lock-${++sequence}`
  })
  afterEach(async () => {
    await Promise.all(processes.splice(0).map((one) => one.end()))
    await Promise.all(locks.splice(0).map((lock) => lock.close()))
    await Promise.all(proxies.splice(0).map((proxy) => proxy.close()))
  })
  afterAll(() => world?.stop())

  function create({ url = world.url, ttlMs = 5_000, retryMs = 25 } = {}): Lock {
    const lock = world.create({ url, ttlMs, retryMs })
    locks.push(lock)
    return lock
  }

  function startProcess(options: { ttlMs: number; retryMs?: number }): LockProcess {
    const started = startLockProcess({ kind: world.kind, url: world.url, name: key, ...options })
    processes.push(started)
    return started
  }

  describeAnyLock(name, () => create())

  describe(`${name} among several`, () => {
    it('has one holder at a time through 500 hand-overs among many (P3)', async () => {
      let holders = 0
      let handOvers = 0
      const tallies = new Map<Lock, number>()

      async function contend(lock: Lock): Promise<void> {
        while (handOvers < 500) {
          const held = await lock.acquire(key, never())
          holders++
          expect(holders).toBe(1)
          // Let the others run, so that they would be seen if they could get in.
          await new Promise((next) => setImmediate(next))
          expect(holders).toBe(1)
          expect(held.lost.aborted).toBe(false)
          holders--
          handOvers++
          tallies.set(lock, (tallies.get(lock) ?? 0) + 1)
          await held.release()
        }
      }

      const several = Array.from({ length: 5 }, () => create({ retryMs: 4 }))
      await Promise.all(several.flatMap((lock) => [contend(lock), contend(lock), contend(lock)]))
      expect(handOvers).toBeGreaterThanOrEqual(500)
      expect([...tallies.values()].every((tally) => tally > 0)).toBe(true)
      expect(tallies.size).toBe(several.length)
    }, 60_000)

    it('is handed over soon after its release, at the default pace', async () => {
      const first = await create().acquire(key, never())
      const standby = create({ retryMs: 250 })
      await waitInVain(standby, key, 300)
      const second = standby.acquire(key, never())
      // By the time a third has waited in vain, the second is between two of its attempts.
      await waitInVain(create(), key, 300)
      await expect(timeOf(() => first.release().then(() => second))).resolves.toBeLessThan(1_000)
      expect((await second).lost.aborted).toBe(false)
    })

    it('keeps others out for as long as it is renewed, through several TTLs', async () => {
      const ttlMs = 600
      const held = await create({ ttlMs }).acquire(key, never())
      await waitInVain(create({ ttlMs }), key, ttlMs * 4)
      expect(held.lost.aborted).toBe(false)
    })

    it('keeps out a second caller in the same process', async () => {
      const lock = create()
      const held = await lock.acquire(key, never())
      await waitInVain(lock, key, 300)
      await held.release()
      await lock.acquire(key, never())
    })

    it('leaves nothing behind when a caller stops waiting', async () => {
      const [first, second, third] = [create(), create(), create()]
      const held = await first.acquire(key, never())
      const leaving = new AbortController()
      const waiting = second.acquire(key, leaving.signal)
      const reason = new Error('changed my mind')
      leaving.abort(reason)
      await expect(waiting).rejects.toBe(reason)
      await held.release()
      await third.acquire(key, never())
    })

    it('is not left held by callers who stop waiting at the very moment they get it', async () => {
      const [first, second] = [create(), create({ retryMs: 1 })]
      for (let round = 0; round < 50; round++) {
        const leaving = new AbortController()
        const waiting = second.acquire(key, leaving.signal).then(
          (held) => held.release(),
          () => {},
        )
        await new Promise((next) => setTimeout(next, Math.random() * 3))
        leaving.abort()
        await waiting
      }
      await (await first.acquire(key, AbortSignal.timeout(2_000))).release()
    })

    it('has names that do not concern one another', async () => {
      const [first, second] = [create(), create()]
      const one = await first.acquire(`${key}-one`, never())
      const other = await second.acquire(`${key}-other`, never())
      await one.release()
      expect(other.lost.aborted).toBe(false)
      await waitInVain(first, `${key}-other`, 300)
    })

    it('is free when the lock of its holder is closed', async () => {
      const first = create()
      const held = await first.acquire(key, never())
      const second = create().acquire(key, never())
      await first.close()
      await second
      expect(held.lost.aborted).toBe(true)
    })

    it('turns away who is waiting when it is closed', async () => {
      await create().acquire(key, never())
      const second = create()
      const waiting = expect(second.acquire(key, never())).rejects.toThrow('closed')
      await second.close()
      await waiting
    })

    it('is released only by its owner: a former holder changes nothing', async () => {
      const [first, second, third] = [create({ ttlMs: 1_000 }), create(), create()]
      const former = await first.acquire(key, never())
      await world.forget()
      const present = await second.acquire(key, never())
      await former.release()
      await waitInVain(third, key, 400)
      expect(present.lost.aborted).toBe(false)
    })
  })

  describe(`${name} when things go wrong`, () => {
    it('is lost soon when the server forgets it, and can be had again', async () => {
      const ttlMs = 1_500
      const lock = create({ ttlMs })
      const held = await lock.acquire(key, never())
      await world.forget()
      await expect(timeOf(() => lossOf(held))).resolves.toBeLessThan(ttlMs)
      await held.release()
      await lock.acquire(key, never())
    })

    it('is lost when its connection is cut, before another one has it; and can be had again', async () => {
      const ttlMs = 1_200
      const proxy = await startCuttableProxy(world.url)
      proxies.push(proxy)
      const lock = create({ url: proxy.url, ttlMs })
      const held = await lock.acquire(key, never())
      const next = create({ ttlMs }).acquire(key, never())
      const lost = lossOf(held)
      await proxy.cut()
      const heldByNext = await next
      // Both ends of a cut connection hear of it, in any order, but at once.
      await expect(timeOf(() => lost)).resolves.toBeLessThan(100)

      await proxy.mend()
      await held.release()
      const again = lock.acquire(key, never())
      await heldByNext.release()
      expect((await again).lost.aborted).toBe(false)
    })

    it('waits for a server that is away at the start', async () => {
      const proxy = await startCuttableProxy(world.url)
      proxies.push(proxy)
      await proxy.cut()
      const lock = create({ url: proxy.url })
      await waitInVain(lock, key, 500)
      const acquired = lock.acquire(key, never())
      await proxy.mend()
      expect((await acquired).lost.aborted).toBe(false)
    })
  })

  describe(`${name} between processes`, () => {
    it('is free soon after its holder was killed (P3)', async () => {
      const ttlMs = 2_000
      const holder = startProcess({ ttlMs })
      await holder.says('held')
      const next = create({ ttlMs, retryMs: 250 }).acquire(key, never())
      const took = await timeOf(() => {
        holder.signal('SIGKILL')
        return next
      })
      expect(took).toBeLessThan(world.freeAfterDeathMs(ttlMs))
    })

    it('is taken from a holder that is paused past its TTL, who learns of it before anything else (P3)', async () => {
      const ttlMs = 1_000
      const holder = startProcess({ ttlMs })
      await holder.says('work')
      const standby = create({ ttlMs })
      const next = standby.acquire(key, never())
      const took = await timeOf(() => {
        holder.signal('SIGSTOP')
        return next
      })
      expect(took).toBeLessThan(2 * ttlMs + 500)

      const wokenAt = Date.now()
      holder.signal('SIGCONT')
      const lostAt = await holder.says('lost')
      expect(lostAt - wokenAt).toBeLessThan(500)
      expect(holder.lastWorkAt()).toBeLessThanOrEqual(wokenAt)
      expect((await next).lost.aborted).toBe(false)
    })
  })
}

/** Somebody tries to have the lock for so long, and does not get it. */
export async function waitInVain(lock: Lock, name: string, ms: number): Promise<void> {
  await expect(lock.acquire(name, AbortSignal.timeout(ms))).rejects.toMatchObject({ name: 'TimeoutError' })
}

function lossOf(held: Held): Promise<void> {
  return new Promise((resolve) => {
    const { lost } = held
    if (lost.aborted) resolve()
    else lost.addEventListener('abort', () => resolve(), { once: true })
  })
}

async function timeOf(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now()
  await work()
  return performance.now() - began
}
