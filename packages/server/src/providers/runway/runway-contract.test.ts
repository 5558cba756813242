import { describeProvider } from '../../../test/provider-contract.ts'
import { createRunway } from './runway.ts'
import { startRunwaySimulator } from './simulator/start-runway-simulator.ts'

describeProvider({
  name: 'runway',
  async start({ apiKey, simulatorKey, now, random, log, limits }) {
    const simulator = await startRunwaySimulator({ apiKey: simulatorKey, now, random })
    const models = { image: 'gen4_image', video: 'gen4.5' }
    const provider = createRunway({ apiKey, baseUrl: simulator.url, models, limits, log, now })
    return { simulator, provider }
  },
  urlLifetimeMs: 24 * 60 * 60_000,
  tellsProgress: true,
  endings: {
    'fail][bad-output': { kind: 'failed', code: 'PROVIDER_FAILED', retryable: true },
    'fail][asset': { kind: 'failed', code: 'PROVIDER_FAILED', retryable: false },
    'fail][no-code': { kind: 'failed', code: 'PROVIDER_FAILED', retryable: true },
  },
  cancel: 'stops',
  refresh: 'refreshed',
  finds: false,
  webhooks: null,
})
