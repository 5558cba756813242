import { HoldfastError } from '@holdfast/client'

interface Options<T> {
  load(): Promise<T>
  onData(data: T): void
  onError(error: unknown): void
  /** Pauses before trying again, the last one for good, in milliseconds. */
  pauses?: readonly number[]
}

export interface Loader {
  /** Loads now; asked while loading, loads once more afterwards, so that the answer is never older than the question. */
  request(): void
  stop(): void
}

/** Loads on request, one at a time, and keeps trying while the server is away. */
export function createLoader<T>({ load, onData, onError, pauses = [1500, 3000, 6000] }: Options<T>): Loader {
  let loading = false
  let again = false
  let stopped = false
  let failures = 0
  let timer: ReturnType<typeof setTimeout> | undefined

  async function run(): Promise<void> {
    clearTimeout(timer)
    again = loading
    if (loading || stopped) return
    loading = true
    try {
      const data = await load()
      failures = 0
      if (!stopped) onData(data)
    } catch (error) {
      if (!stopped) onError(error)
      if (!stopped && mayPass(error)) {
        timer = setTimeout(() => void run(), pauses[Math.min(failures, pauses.length - 1)])
        failures += 1
      }
    } finally {
      loading = false
      if (again) void run()
    }
  }

  return {
    request: () => void run(),
    stop: () => {
      stopped = true
      clearTimeout(timer)
    },
  }
}

/** Whether asking again later may help: not when the server has clearly said no. */
function mayPass(error: unknown): boolean {
  if (!(error instanceof HoldfastError)) return true
  if (error.code === 'SIGNED_OUT') return false
  return error.status === null || error.status === 429 || error.status >= 500
}
