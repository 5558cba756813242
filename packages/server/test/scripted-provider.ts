import type {
  CreateOutcome,
  CreateRequest,
  FindOutcome,
  Provider,
  ProviderLimits,
  QueryOutcome,
  WebhookCall,
  WebhookReading,
} from '../src/providers/provider.ts'

export interface Script {
  name?: string
  limits?: Partial<ProviderLimits>
  create?(request: CreateRequest, nth: number): CreateOutcome | Promise<CreateOutcome>
  query?(externalId: string, nth: number): QueryOutcome | Promise<QueryOutcome>
  /** Without it the provider cannot cancel. */
  cancel?(externalId: string, nth: number): boolean | Promise<boolean>
  /** Without it the provider cannot list. */
  find?(request: CreateRequest): FindOutcome
  /** Without it the provider sends no webhooks. */
  readWebhook?(call: WebhookCall): WebhookReading
  maxWebhookBytes?: number
}

export interface ScriptedProvider extends Provider {
  readonly creates: CreateRequest[]
  readonly queries: string[]
  readonly cancels: string[]
}

const UNLIMITED = { perSecond: 100_000, burst: 100_000, inFlight: 1_000 }

let made = 0

/** A provider that says what the test wants, in no time, and remembers what it was asked. */
export function createScriptedProvider(script: Script = {}): ScriptedProvider {
  const creates: CreateRequest[] = []
  const queries: string[] = []
  const cancels: string[] = []
  made += 1
  return {
    name: script.name ?? `scripted-${made}`,
    limits: {
      create: UNLIMITED,
      query: UNLIMITED,
      callTimeoutMs: 1_000,
      minPollMs: 1,
      notFoundGraceMs: 60_000,
      ...script.limits,
    },
    creates,
    queries,
    cancels,
    async create(request) {
      creates.push(request)
      return (
        (await script.create?.(request, creates.length)) ?? {
          kind: 'accepted',
          externalId: `external-${request.taskId}`,
        }
      )
    },
    async query(externalId) {
      queries.push(externalId)
      return (await script.query?.(externalId, queries.length)) ?? { kind: 'running', progress: null }
    },
    ...(script.cancel
      ? {
          cancel: async (externalId: string) => {
            cancels.push(externalId)
            return (await script.cancel?.(externalId, cancels.length)) ?? true
          },
        }
      : {}),
    ...(script.find ? { find: async (request: CreateRequest) => script.find?.(request) as FindOutcome } : {}),
    ...(script.readWebhook
      ? { readWebhook: async (call: WebhookCall) => script.readWebhook?.(call) as WebhookReading }
      : {}),
    ...(script.maxWebhookBytes === undefined ? {} : { maxWebhookBytes: script.maxWebhookBytes }),
    close: async () => {},
  }
}
