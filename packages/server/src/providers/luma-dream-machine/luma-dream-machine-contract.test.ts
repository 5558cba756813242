import { describeProvider } from '../../../test/provider-contract.ts'
import { createLumaDreamMachine } from './luma-dream-machine.ts'
import { startLumaDreamMachineSimulator } from './simulator/start-luma-dream-machine-simulator.ts'

describeProvider({
  name: 'luma-dream-machine',
  async start({ apiKey, simulatorKey, now, random, log, limits }) {
    // The property tests of the suite make more than the vendor would take in a minute.
    const rateLimit = { count: 1_000, windowMs: 60_000 }
    const simulator = await startLumaDreamMachineSimulator({ apiKey: simulatorKey, now, random, rateLimit })
    const provider = createLumaDreamMachine({
      apiKey,
      baseUrl: `${simulator.url}/dream-machine/v1`,
      models: { image: 'photon-1', video: 'ray-2' },
      limits,
      log,
      now,
    })
    return { simulator, provider }
  },
  urlLifetimeMs: 60 * 60_000,
  tellsProgress: false,
  endings: {
    'fail][bad-frame': { kind: 'failed', code: 'PROVIDER_FAILED', retryable: false },
  },
  cancel: 'stops',
  refresh: 'none',
  finds: true,
  webhooks: { signs: 'nothing', namesDeliveries: false },
})
