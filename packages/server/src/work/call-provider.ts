import type { Logger } from 'pino'
import { createTimeLimit } from '../concurrency/time-limit.ts'
import type { Metrics } from '../metrics/metrics.ts'
import type {
  CreateOutcome,
  CreateRequest,
  FindOutcome,
  Provider,
  QueryOutcome,
  RefreshOutcome,
} from '../providers/provider.ts'

/** Whose call it is, for the log. */
interface About {
  taskId: string
  traceId: string | null
}

/**
 * A provider as the engine calls it: never throws, always answers in time, and is counted. A bug in an adapter must
 * not end anybody's task, and one that never answers must not hold a place for ever.
 */
export interface ProviderCalls {
  create(about: About, request: CreateRequest): Promise<CreateOutcome>
  query(about: About, externalId: string): Promise<QueryOutcome>
  /** Whether the provider took it. */
  cancel(about: About, externalId: string): Promise<boolean>
  /** Null where the provider cannot list. */
  find(about: About, request: CreateRequest & { sentAtMs: number }): Promise<FindOutcome | null>
  /** Null where it gives no new links. */
  refresh(
    about: About,
    file: Parameters<NonNullable<Provider['refresh']>>[0],
    signal: AbortSignal,
  ): Promise<RefreshOutcome | null>
}

/** Adapters keep to `callTimeoutMs` themselves; this is for those that do not. */
const PATIENCE_MS = 2_000
/** A refresh may ask for a file's new link more than once. */
const REFRESH_LIMIT_MS = 30_000

const THREW = 'the adapter threw'
const SILENT = 'the adapter did not answer in time'

export interface CallOptions {
  log: Logger
  metrics: Pick<Metrics, 'polled' | 'submitted'>
  /** Aborts everything but creates: one that was cut off would be an unknown one. */
  stopping: AbortSignal
}

export function createProviderCalls(
  provider: Provider,
  { log, metrics, stopping }: CallOptions,
): ProviderCalls {
  const withinTime = createTimeLimit(provider.limits.callTimeoutMs + PATIENCE_MS)
  const never = new AbortController().signal

  /** @param otherwise what it means that nothing was learned, and why */
  async function call<T>(
    about: About,
    make: () => Promise<T> | undefined,
    otherwise: (reason: string) => T,
  ): Promise<T> {
    try {
      const made = make()
      return made === undefined ? otherwise(THREW) : await withinTime(made, () => otherwise(SILENT))
    } catch (error) {
      const { taskId, traceId } = about
      log.error({ err: error, taskId, traceId, provider: provider.name }, THREW)
      return otherwise(THREW)
    }
  }

  const unknown = (reason: string): CreateOutcome => ({ kind: 'unknown', reason, isUnclassified: true })
  const nothing = (reason: string): QueryOutcome => ({ kind: 'inconclusive', reason, retryAfterMs: null })

  return {
    async create(about, request) {
      const outcome = await call(about, () => provider.create(request, never), unknown)
      metrics.submitted(provider.name, outcome.kind)
      return outcome
    },
    async query(about, externalId) {
      const outcome = await call(about, () => provider.query(externalId, stopping), nothing)
      metrics.polled(provider.name, outcome.kind)
      return outcome
    },
    async cancel(about, externalId) {
      if (!provider.cancel) return false
      return call(
        about,
        () => provider.cancel?.(externalId, stopping),
        () => false,
      )
    },
    async find(about, request) {
      if (!provider.find) return null
      return call(
        about,
        () => provider.find?.(request, stopping),
        (reason) => ({ kind: 'inconclusive', reason }),
      )
    },
    async refresh(about, file, signal) {
      if (!provider.refresh) return null
      const limited = AbortSignal.any([signal, AbortSignal.timeout(REFRESH_LIMIT_MS)])
      return call<RefreshOutcome>(
        about,
        () => provider.refresh?.(file, limited),
        (reason) => ({ kind: 'inconclusive', reason }),
      )
    },
  }
}
