import { describeProvider } from '../../../test/provider-contract.ts'
import { createFal } from './fal.ts'
import { startFalSimulator } from './simulator/start-fal-simulator.ts'

describeProvider({
  name: 'fal',
  async start({ apiKey, simulatorKey, now, random, log, limits }) {
    const simulator = await startFalSimulator({ apiKey: simulatorKey, now, random })
    const { url: baseUrl, keysUrl } = simulator
    const models = { image: 'fal-ai/flux/dev', other: 'fal-ai/other' }
    return { simulator, provider: createFal({ apiKey, baseUrl, keysUrl, models, limits, now, log }) }
  },
  exampleId: 'fal-ai/flux/dev:00000000-0000-4000-8000-000000000000',
  urlLifetimeMs: 7 * 24 * 60 * 60_000,
  mostResults: 3,
  tellsProgress: true,
  creates: { 'code:422': { kind: 'refused', code: 'SUBMIT_REFUSED', retryable: false } },
  endings: {
    invalid: { kind: 'failed', code: 'PROVIDER_FAILED', retryable: false },
    'detail-text': { kind: 'failed', code: 'PROVIDER_FAILED', retryable: false },
    'start-timeout': { kind: 'failed', code: 'PROVIDER_FAILED', retryable: false },
    'status-error': { kind: 'failed', code: 'PROVIDER_FAILED', retryable: true },
    gone: { kind: 'failed', code: 'RESULT_UNREADABLE', retryable: true },
    'no-files': { kind: 'inconclusive' },
    'garbage-result': { kind: 'inconclusive' },
    'proxy-result': { kind: 'inconclusive' },
    'broken-result': { kind: 'inconclusive' },
    'cancel-too-late': { kind: 'succeeded' },
  },
  cancel: 'stops',
  refresh: 'none',
  finds: false,
  webhooks: { signs: 'body', namesDeliveries: false },
})
