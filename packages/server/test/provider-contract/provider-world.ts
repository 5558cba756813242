import type { Logger } from 'pino'
import { afterEach } from 'vitest'
import type {
  CreateOutcome,
  Provider,
  ProviderLimits,
  QueryOutcome,
  WebhookReading,
} from '../../src/providers/provider.ts'
import type { Simulator } from '../../src/providers/simulation/simulator.ts'
import { createMemoryLog } from '../memory-log.ts'
import { receiveWebhooks } from '../receive-webhooks.ts'

/** What a provider and its simulator are started with: both get the same clock. */
export interface WorldOptions {
  /** The key that the adapter sends. */
  apiKey: string
  /** The key that the simulator accepts. */
  simulatorKey: string
  now: () => number
  /** 0.5 at all times: an image takes 8 s, a video 25 s. */
  random: () => number
  log: Logger
  limits: Partial<ProviderLimits>
}

/** What a test file says about the provider it has. The words in brackets are those of its simulator. */
export interface ProviderWorld {
  name: string
  start(options: WorldOptions): Promise<{ simulator: Simulator; provider: Provider }>
  /** The type of the tasks that are made. @default 'image' */
  type?: string
  /** What is sent for a prompt. @default only the prompt */
  paramsFor?(prompt: string): Record<string, unknown>
  /** How a result URL and its lifetime must look. */
  urlLifetimeMs: number | null
  /** An id as this vendor's look. @default 'task-1' */
  exampleId?: string
  /** What result URLs are fetched without or with: whether `sourceHeaders` is needed. @default false */
  keepsFilesPrivate?: boolean
  /** How many results a model makes at most, at least three. @default not looked at */
  mostResults?: number
  /** Whether polls tell per cent. */
  tellsProgress: boolean
  /** Creates that end differently from most vendors' (`COMMON_CREATES`), or that only this vendor has. */
  creates?: Record<string, Partial<CreateOutcome>>
  /** Endings that only this vendor has: what a poll says once the time is up. */
  endings?: Record<string, Partial<QueryOutcome>>
  /** What happens to a running task that is cancelled; 'none' where the vendor cannot. */
  cancel: 'none' | 'stops'
  /** What `refresh` says of a URL that has died; 'none' where there is no refresh. */
  refresh: 'none' | 'refreshed' | 'gone'
  /** Whether a create with a callback URL can be found again; 'absence' where at most its absence can be told. */
  finds: boolean | 'absence'
  /** What the vendor's webhooks prove; null where it sends none. */
  webhooks: {
    /** `body`: all of it is signed. `task`: only which task, and when. `nothing`: unsigned. */
    signs: 'body' | 'task' | 'nothing'
    /** Whether a repeat can be told by its delivery id. */
    namesDeliveries: boolean
  } | null
}

export const API_KEY = 'test-key-0123456789'
export const never = new AbortController().signal
export const LONG_ENOUGH_MS = 60_000

/** What the tests of one provider are written with. */
export type Bench = ReturnType<typeof createBench>

export function createBench(world: ProviderWorld) {
  const cleanups: (() => Promise<unknown>)[] = []
  afterEach(async () => {
    for (const clean of cleanups.splice(0).reverse()) await clean()
  })

  async function setUp(options: Partial<WorldOptions> = {}) {
    const clock = { now: Date.parse('2026-11-16T08:00:00Z') }
    const { log, lines } = createMemoryLog()
    const { simulator, provider } = await world.start({
      apiKey: API_KEY,
      simulatorKey: API_KEY,
      now: () => clock.now,
      random: () => 0.5,
      log,
      limits: {},
      ...options,
    })
    cleanups.push(
      () => provider.close(),
      () => simulator.close(),
    )
    const requestFor = (prompt: string, callbackUrl?: string) => ({
      taskId: '0199f000-0000-7000-8000-000000000001',
      type: world.type ?? 'image',
      params: world.paramsFor?.(prompt) ?? { prompt },
      ...(callbackUrl ? { callbackUrl } : {}),
    })
    const create = (prompt: string, callbackUrl?: string, signal = never) =>
      provider.create(requestFor(prompt, callbackUrl), signal)
    const accepted = async (prompt: string, callbackUrl?: string) => {
      const outcome = await create(prompt, callbackUrl)
      if (outcome.kind !== 'accepted') throw new Error(`not accepted: ${JSON.stringify(outcome)}`)
      return outcome.externalId
    }
    const query = (id: string, signal = never) => provider.query(id, signal)
    const finished = async (prompt: string) => {
      const id = await accepted(prompt)
      clock.now += LONG_ENOUGH_MS
      const outcome = await query(id)
      if (outcome.kind !== 'succeeded') throw new Error(`no success: ${JSON.stringify(outcome)}`)
      return { id, outputs: outcome.outputs, url: outcome.outputs[0]?.url ?? '' }
    }
    /** As copying does it: with the key where the vendor wants it, and nowhere else. */
    const download = (url: string) =>
      fetch(url, { headers: provider.sourceHeaders?.(url) ?? {}, redirect: 'manual' })
    return { clock, simulator, provider, lines, requestFor, create, accepted, query, finished, download }
  }

  /** An address that vendors can call, and what the adapter made of each call. */
  async function receive(provider: Provider, now: () => number) {
    const readings: WebhookReading[] = []
    const hook = await receiveWebhooks(undefined, async ({ headers, body, url }) => {
      const call = { headers, body: new Uint8Array(Buffer.from(body)), receivedAtMs: now(), url }
      const reading = await provider.readWebhook?.(call)
      if (reading) readings.push(reading)
    })
    cleanups.push(hook.close)
    return { readings, url: hook.url }
  }

  return { world, setUp, receive }
}
