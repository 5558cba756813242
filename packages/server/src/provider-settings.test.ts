import { expect, test } from 'vitest'
import { ENVIRONMENT, readConfig } from './config.ts'
import { readProviderSettings } from './provider-settings.ts'

test.each([
  ['kie', 'KIE_API_KEY', { image: 'google/nano-banana', video: 'sora-2-text-to-video' }],
  ['replicate', 'REPLICATE_API_TOKEN', { image: expect.any(String), video: expect.any(String) }],
  ['fal', 'FAL_KEY', { image: expect.any(String), video: expect.any(String) }],
  ['runway', 'RUNWAYML_API_SECRET', { image: 'gen4_image', video: 'gen4.5' }],
  ['luma-agents', 'LUMA_AGENTS_API_KEY', { image: 'uni-1', video: 'ray-3.2' }],
  ['luma-dream-machine', 'LUMAAI_API_KEY', { image: 'photon-1', video: 'ray-2' }],
] as const)('%s is used once %s is set', (vendor, variable, models) => {
  expect(readProviderSettings({}).vendors[vendor].apiKey).toBeNull()
  const { vendors } = readProviderSettings({ [variable]: ' the-key ' })
  expect(vendors[vendor]).toEqual({
    apiKey: 'the-key',
    baseUrl: null,
    models,
    choices: {},
    webhookSecret: null,
  })
  expect(Object.values(vendors).filter(({ apiKey }) => apiKey !== null)).toHaveLength(1)
})

test('addresses, models and secrets can be set', () => {
  const { vendors } = readProviderSettings({
    RUNWAYML_API_SECRET: 'a',
    RUNWAYML_BASE_URL: 'http://127.0.0.1:8788',
    RUNWAYML_VIDEO_MODEL: 'veo3.1',
    OPENAI_VIDEOS_API_KEY: 'b',
    OPENAI_VIDEOS_BASE_URL: 'https://gateway.example.com/v1',
    OPENAI_VIDEOS_MODEL: 'kling',
    OPENAI_VIDEOS_WEBHOOK_SECRET: 'whsec_x',
  })
  expect(vendors.runway).toMatchObject({
    baseUrl: 'http://127.0.0.1:8788',
    models: { image: 'gen4_image', video: 'veo3.1' },
  })
  expect(vendors['openai-videos']).toEqual({
    apiKey: 'b',
    baseUrl: 'https://gateway.example.com/v1',
    models: { video: 'kling' },
    choices: {},
    webhookSecret: 'whsec_x',
  })
})

test('several models are what users may choose from, the first one unless they do', () => {
  const { kie } = readProviderSettings({ KIE_IMAGE_MODEL: ' a , b/c,a', KIE_VIDEO_MODEL: 'v' }).vendors
  expect(kie.models).toEqual({ image: 'a', video: 'v' })
  expect(kie.choices).toEqual({ image: ['a', 'b/c'] })
  expect(() => readProviderSettings({ FAL_VIDEO_MODEL: 'a,,b' })).toThrow('FAL_VIDEO_MODEL is "a,,b"')
})

test('a gateway needs its address, since there is no usual one', () => {
  expect(() => readConfig({ OPENAI_VIDEOS_API_KEY: 'b' })).toThrow(/OPENAI_VIDEOS_BASE_URL is not. Say where/)
})

test.each([
  [{ IMAGE_PROVIDER: 'midjourney' }, /IMAGE_PROVIDER is "midjourney"; it must be one of kie, replicate/],
  [{ IMAGE_PROVIDER: 'openai-videos' }, /IMAGE_PROVIDER is "openai-videos"; it must be one of/],
  [{ VIDEO_PROVIDER: 'toString' }, /VIDEO_PROVIDER is "toString"/],
])('%j is refused', (env, message) => {
  expect(() => readConfig(env)).toThrow(message)
})

test('the help names every variable that is read', () => {
  const asked = new Set<string>()
  const env = new Proxy({} as NodeJS.ProcessEnv, {
    get: (_target, name) => {
      asked.add(String(name))
      return undefined
    },
  })
  readProviderSettings(env)
  const told = new Set(ENVIRONMENT.flatMap(([names]) => names.split(', ')))
  expect([...asked].filter((name) => !told.has(name))).toEqual([])
  expect(asked.size).toBeGreaterThan(25)
})
