import { DEFAULT_LIMITS } from './default-limits.ts'
import type { OperationLimit, Provider, ProviderLimits } from './provider.ts'

/** A provider written by hand: limits that are not given, and closing, are filled in. */
export type ProviderDefinition<Name extends string> = Omit<Provider, 'name' | 'limits' | 'close'> & {
  name: Name
  limits?: Partial<ProviderLimits>
  close?: () => Promise<void>
}

/** It stands in URLs, in columns and on metrics. */
const NAME = /^[a-z][a-z0-9-]{0,49}$/

/**
 * Makes a provider of functions, for APIs that `createHttpApi` does not fit: gRPC, a queue, a library. The functions may
 * never throw for what the other side does; see `CreateOutcome` for the one question that counts.
 */
export function defineProvider<const Name extends string>(
  definition: ProviderDefinition<Name>,
): Provider & { readonly name: Name } {
  const { name } = definition
  if (!NAME.test(name)) {
    throw new Error(`"${name}" cannot name a provider: use small letters, digits and dashes, like "my-gpu".`)
  }
  const limits = { ...DEFAULT_LIMITS, ...definition.limits }
  checkOperation(name, 'create', limits.create)
  checkOperation(name, 'query', limits.query)
  for (const each of ['callTimeoutMs', 'minPollMs', 'notFoundGraceMs'] as const) {
    if (!(limits[each] >= 0 && Number.isFinite(limits[each]))) throw wrongLimit(name, each)
  }
  return { close: async () => {}, ...definition, limits }
}

function checkOperation(name: string, operation: string, { perSecond, burst = 1, inFlight }: OperationLimit) {
  if (!(perSecond > 0)) throw wrongLimit(name, `${operation}.perSecond`)
  if (!(burst >= 1)) throw wrongLimit(name, `${operation}.burst`)
  if (!(Number.isInteger(inFlight) && inFlight >= 1)) throw wrongLimit(name, `${operation}.inFlight`)
}

function wrongLimit(name: string, limit: string): Error {
  return new Error(`The limit ${limit} of provider "${name}" would let nothing through. Set it above 0.`)
}
