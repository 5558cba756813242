import { describe } from 'vitest'
import { describeProvider } from '../../../test/provider-contract.ts'
import { createKie } from './kie.ts'
import { startKieSimulator } from './simulator/start-kie-simulator.ts'

describe.each(['http', 'envelope'] as const)('with errors as %s', (errorStyle) => {
  describeProvider({
    name: 'kie',
    async start({ apiKey, simulatorKey, now, random, log, limits }) {
      const webhookHmacKey = 'kie-test-key'
      const rateLimit = { count: 1_000, windowMs: 1 }
      const simulator = await startKieSimulator({
        apiKey: simulatorKey,
        now,
        random,
        errorStyle,
        rateLimit,
        webhookHmacKey,
      })
      const models = { image: 'google/nano-banana' }
      const provider = createKie({ apiKey, baseUrl: simulator.url, models, limits, now, log, webhookHmacKey })
      return { simulator, provider }
    },
    urlLifetimeMs: 20 * 60_000,
    mostResults: 3,
    tellsProgress: false,
    creates: {
      'code:451': { kind: 'refused', code: 'SUBMIT_REFUSED', retryable: false },
      'code:433': { kind: 'not-accepted', retryAfterMs: 10_000 },
      'code:455': { kind: 'not-accepted', retryAfterMs: 30_000 },
      'code:500': { kind: 'refused', code: 'SUBMIT_REFUSED', retryable: true },
      'code:505': { kind: 'refused', code: 'SUBMIT_REFUSED', retryable: false },
    },
    endings: {
      'object-result': { kind: 'succeeded' },
      'text-times': { kind: 'succeeded' },
      'bad-result': { kind: 'inconclusive' },
    },
    cancel: 'none',
    refresh: 'refreshed',
    finds: false,
    webhooks: { signs: 'task', namesDeliveries: false },
  })
})
