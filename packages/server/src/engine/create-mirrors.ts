import type { Alert } from '../alerts/alert.ts'
import { type CopiedFile, markStored } from '../artifacts/mark-stored.ts'
import { defaultMirrorOptions, type MirrorOptions } from '../artifacts/mirror-options.ts'
import { gather } from '../concurrency/gather.ts'
import { isDatabaseAway } from '../database/database-errors.ts'
import { createCircuitBreaker } from './circuit-breaker.ts'
import type { MirrorContext } from './mirror-context.ts'
import { runMirrors } from './run-mirrors.ts'
import { createWakeable, type Wakeable } from './wakeable.ts'

/** Fewer than for a provider: each is a file that was fetched for nothing. */
const STORE_FAILURES_TO_OPEN = 4

export interface MirrorParts
  extends Pick<
    MirrorContext,
    'sql' | 'bus' | 'aftermath' | 'providers' | 'log' | 'metrics' | 'random' | 'stopping' | 'givenUp'
  > {
  objects: MirrorContext['objects'] | undefined
  source: MirrorContext['source'] | undefined
  mirror: Partial<MirrorOptions> | undefined
  alert: Alert | undefined
  idleMs: number
}

export interface Mirrors {
  alarm: Wakeable
  /** Until the engine stops. */
  run(): Promise<void>
}

/** Copies result files to the store. Null if there is none. */
export function createMirrors(parts: MirrorParts): Mirrors | null {
  const { objects, source, mirror, alert = () => {}, idleMs, ...shared } = parts
  if (!objects || !source) return null
  const alarm = createWakeable()
  const store = gather<CopiedFile, boolean>({
    together: (files) => markStored(shared.sql, files, 'skip'),
    alone: async (file) => (await markStored(shared.sql, [file], 'wait'))[0] ?? false,
    isHopeless: isDatabaseAway,
  })
  const context: MirrorContext = {
    ...shared,
    objects,
    source,
    alert,
    options: { ...defaultMirrorOptions, ...mirror },
    breaker: createCircuitBreaker(STORE_FAILURES_TO_OPEN),
    store,
  }
  return { alarm, run: () => runMirrors(context, { alarm, idleMs }) }
}
