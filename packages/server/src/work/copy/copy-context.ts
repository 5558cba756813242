import type { Logger } from 'pino'
import type { Alert } from '../../alerts/alert.ts'
import type { SourceOpener } from '../../artifacts/source/open-source.ts'
import type { WriteContext } from '../../bus/create-notify.ts'
import type { CircuitBreaker } from '../../engine/circuit-breaker.ts'
import type { Metrics } from '../../metrics/metrics.ts'
import type { ObjectStore } from '../../objects/object-store.ts'
import type { Provider } from '../../providers/provider.ts'
import type { Aftermath } from '../../tasks/aftermath.ts'
import type { ProviderCalls } from '../call-provider.ts'
import type { MirrorOptions } from './copy-options.ts'
import type { CopiedFile } from './mark-stored.ts'

/** What the copying of files needs of the rest. */
export interface CopyContext extends WriteContext {
  aftermath: Aftermath
  objects: ObjectStore
  source: Pick<SourceOpener, 'open'>
  providers: ReadonlyMap<string, Provider>
  /** By the provider's name. */
  calls: ReadonlyMap<string, ProviderCalls>
  log: Logger
  metrics: Metrics
  alert: Alert
  random: () => number
  options: MirrorOptions
  /** For the store: while it is away, only one file at a time finds out when it is back. */
  breaker: CircuitBreaker
  /** Writes it down together with others, and tells it; false if the claim was lost or the file is not wanted any more. */
  store(file: CopiedFile & { userId: string }): Promise<boolean>
  /** Aborted when the engine stops: what is under way is given up and handed back. */
  stopping: AbortSignal
  /** Aborted when a stop has waited long enough: what could not be written is let go. */
  givenUp: AbortSignal
}
