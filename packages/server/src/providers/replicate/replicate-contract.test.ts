import { describeProvider } from '../../../test/provider-contract.ts'
import { createReplicate } from './replicate.ts'
import { startReplicateSimulator } from './simulator/start-replicate-simulator.ts'

describeProvider({
  name: 'replicate',
  async start({ apiKey, simulatorKey, now, random, log, limits }) {
    const simulator = await startReplicateSimulator({ apiKey: simulatorKey, now, random })
    const baseUrl = `${simulator.url}/v1`
    const models = { image: 'black-forest-labs/flux-schnell' }
    return { simulator, provider: createReplicate({ apiKey, baseUrl, models, limits, now, log }) }
  },
  urlLifetimeMs: 60 * 60_000,
  mostResults: 3,
  tellsProgress: true,
  creates: { 'code:422': { kind: 'refused', code: 'SUBMIT_REFUSED', retryable: false } },
  endings: {
    aborted: { kind: 'cancelled' },
    removed: { kind: 'failed', code: 'RESULT_UNREADABLE', retryable: true },
    'string-output': { kind: 'succeeded' },
    'array-output': { kind: 'succeeded' },
    'object-output': { kind: 'succeeded' },
    'null-output': { kind: 'inconclusive' },
    'text-output': { kind: 'inconclusive' },
  },
  cancel: 'stops',
  refresh: 'none',
  finds: true,
  webhooks: { signs: 'body', namesDeliveries: true },
})
