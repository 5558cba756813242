import { setTimeout as sleep } from 'node:timers/promises'
import type { Alert } from '../../alerts/alert.ts'
import { gather } from '../../concurrency/gather.ts'
import type { WakeUp } from '../../concurrency/wake-up.ts'
import { isDatabaseAway } from '../../database/database-errors.ts'
import { createCircuitBreaker } from '../../engine/circuit-breaker.ts'
import { runWork } from '../../engine/run-work.ts'
import { logFailure } from '../../outage-log.ts'
import { createProviderCalls } from '../call-provider.ts'
import { countCopies } from './claim-copies.ts'
import type { CopyContext } from './copy-context.ts'
import { createCopyKind } from './copy-kind.ts'
import { defaultMirrorOptions, type MirrorOptions } from './copy-options.ts'
import { type CopiedFile, markStored } from './mark-stored.ts'

/** Fewer than for a provider: each is a file that was fetched for nothing. */
const STORE_FAILURES_TO_OPEN = 4
const COUNT_EVERY_MS = 15_000
/** Files end one by one, and users have the provider's URL meanwhile. */
const STORED_APART_MS = 25

export interface CopyParts
  extends Pick<
    CopyContext,
    'sql' | 'notify' | 'aftermath' | 'providers' | 'log' | 'metrics' | 'random' | 'stopping' | 'givenUp'
  > {
  objects: CopyContext['objects'] | undefined
  source: CopyContext['source'] | undefined
  mirror: Partial<MirrorOptions> | undefined
  alert: Alert | undefined
}

type OwnedFile = CopiedFile & { userId: string }

/** Copies result files to the store until the engine stops. Undefined if there is no store. */
export function createCopies(parts: CopyParts): ((wakeUp: WakeUp) => Promise<void>) | undefined {
  const { objects, source, mirror, alert = () => {}, ...shared } = parts
  const { sql, notify, log, metrics, stopping } = shared
  if (!objects || !source) return undefined
  const context: Omit<CopyContext, 'due'> = {
    ...shared,
    objects,
    source,
    alert,
    options: { ...defaultMirrorOptions, ...mirror },
    breaker: createCircuitBreaker(STORE_FAILURES_TO_OPEN),
    calls: new Map(
      [...shared.providers].map(([name, provider]) => [
        name,
        createProviderCalls(provider, { log, metrics, stopping }),
      ]),
    ),
    store: gather<OwnedFile, boolean>({
      together: (files) => store(files, 'skip'),
      alone: async (file) => (await store([file], 'wait'))[0] ?? false,
      isHopeless: isDatabaseAway,
      apartMs: STORED_APART_MS,
    }),
  }

  async function store(
    files: readonly OwnedFile[],
    whenHeld: 'skip' | 'wait',
  ): Promise<readonly (boolean | null)[]> {
    const stored = await markStored(sql, files, whenHeld)
    const owners = files.flatMap(({ userId }, index) => (stored[index] ? userId : []))
    for (const userId of new Set(owners)) notify.changed(userId)
    return stored
  }

  async function count(): Promise<void> {
    while (!stopping.aborted) {
      try {
        metrics.mirrorQueue(await countCopies(sql))
      } catch (error) {
        logFailure(log, error, 'the files to copy could not be counted')
      }
      // An abort only ends the pause.
      await sleep(COUNT_EVERY_MS, undefined, { signal: stopping }).catch(() => {})
    }
  }

  return async (wakeUp) => {
    await Promise.all([runWork(createCopyKind(context), { log, wakeUp, stopping }), count()])
  }
}
