import { never, whileAlive } from './while-alive.ts'

type Locks = Pick<LockManager, 'request'>

/** Web Locks as a tab has them that may crash: what it holds is freed, and what it waits for it no longer wants. */
export function createSimulatedLocks(real: Locks, death: AbortSignal): Locks {
  const freed = new Promise<void>((free) => death.addEventListener('abort', () => free()))

  function request(
    name: string,
    options: LockOptions,
    use: (lock: Lock | null) => unknown,
  ): Promise<unknown> {
    if (death.aborted) return never()
    // The browser takes a signal only for requests that wait.
    const waits = !options.ifAvailable && !options.steal
    const signal = options.signal ? AbortSignal.any([options.signal, death]) : death
    const outcome = real.request(name, waits ? { ...options, signal } : options, (lock) =>
      death.aborted ? undefined : Promise.race([use(lock), freed]),
    )
    return whileAlive(death, outcome)
  }

  return { request: request as unknown as LockManager['request'] }
}
