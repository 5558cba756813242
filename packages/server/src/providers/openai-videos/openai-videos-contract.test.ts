import { expect } from 'vitest'
import { describeProvider } from '../../../test/provider-contract.ts'
import { createOpenAiVideos } from './openai-videos.ts'
import { startOpenAiVideosSimulator } from './simulator/start-openai-videos-simulator.ts'

const webhookSecret = 'whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY='

describeProvider({
  name: 'openai-videos',
  async start({ apiKey, simulatorKey, now, random, log, limits }) {
    // The property tests of the suite make more than a gateway would take in a minute.
    const rateLimit = { count: 1_000, windowMs: 60_000 }
    const simulator = await startOpenAiVideosSimulator({ apiKey: simulatorKey, now, random, rateLimit })
    const provider = createOpenAiVideos({
      apiKey,
      baseUrl: `${simulator.url}/v1`,
      models: { video: 'sora-2' },
      webhookSecret,
      limits,
      log,
      now,
    })
    return {
      simulator,
      provider: {
        ...provider,
        create(request, signal) {
          // The address is set at the gateway, for all videos, and not sent along.
          if (request.callbackUrl) simulator.setWebhook({ url: request.callbackUrl, secret: webhookSecret })
          return provider.create(request, signal)
        },
      },
    }
  },
  type: 'video',
  // Counts from the end of the work, which is some time before the poll that sees it.
  urlLifetimeMs: expect.any(Number),
  keepsFilesPrivate: true,
  tellsProgress: true,
  endings: {
    'fail][bad-input': { kind: 'failed', code: 'PROVIDER_FAILED', retryable: false },
    expired: { kind: 'failed', code: 'PROVIDER_FAILED', retryable: true },
  },
  cancel: 'none',
  refresh: 'gone',
  finds: 'absence',
  webhooks: { signs: 'body', namesDeliveries: true },
})
