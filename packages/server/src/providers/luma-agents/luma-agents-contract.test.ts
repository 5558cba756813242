import { describeProvider } from '../../../test/provider-contract.ts'
import { createLumaAgents } from './luma-agents.ts'
import { startLumaAgentsSimulator } from './simulator/start-luma-agents-simulator.ts'

describeProvider({
  name: 'luma-agents',
  async start({ apiKey, simulatorKey, now, random, log, limits }) {
    const simulator = await startLumaAgentsSimulator({ apiKey: simulatorKey, now, random })
    const models = { image: 'uni-1', video: 'ray-3.2' }
    const provider = createLumaAgents({ apiKey, baseUrl: `${simulator.url}/v1`, models, limits, log, now })
    return { simulator, provider }
  },
  urlLifetimeMs: 60 * 60_000,
  tellsProgress: false,
  endings: {
    'fail][budget': { kind: 'failed', code: 'PROVIDER_QUOTA', retryable: false },
    'fail][lost-output': { kind: 'failed', code: 'PROVIDER_FAILED', retryable: true },
  },
  cancel: 'none',
  refresh: 'refreshed',
  finds: false,
  webhooks: null,
})
