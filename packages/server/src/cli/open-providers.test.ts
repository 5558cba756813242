import { expect, test } from 'vitest'
import { createMemoryLog } from '../../test/memory-log.ts'
import { createScriptedProvider } from '../../test/scripted-provider.ts'
import { readProviderSettings } from '../provider-settings.ts'
import { hasProvider, openProviders } from './open-providers.ts'

const KEY = 'a-key-for-tests'
const KEYS = {
  KIE_API_KEY: KEY,
  REPLICATE_API_TOKEN: KEY,
  FAL_KEY: KEY,
  RUNWAYML_API_SECRET: KEY,
  LUMA_AGENTS_API_KEY: KEY,
  LUMAAI_API_KEY: KEY,
  OPENAI_VIDEOS_API_KEY: KEY,
}
const gateway = { OPENAI_VIDEOS_BASE_URL: 'https://gateway.example.com/v1' }

/** Who does what with this environment. */
async function opened(env: Record<string, string>, simulated = false) {
  const { log, lines } = createMemoryLog()
  const settings = readProviderSettings({ ...gateway, ...env })
  const { providers, types } = openProviders(settings, {
    log,
    ...(simulated ? { simulated: createScriptedProvider({ name: 'kie' }) } : {}),
  })
  await Promise.all(providers.map((provider) => provider.close()))
  return {
    names: providers.map(({ name }) => name),
    image: types.image?.provider,
    video: types.video?.provider,
    models: { image: types.image?.models, video: types.video?.models },
    lines,
  }
}

test.each([
  [{ KIE_API_KEY: KEY }, 'kie'],
  [{ REPLICATE_API_TOKEN: KEY }, 'replicate'],
  [{ FAL_KEY: KEY }, 'fal'],
  [{ RUNWAYML_API_SECRET: KEY }, 'runway'],
  [{ LUMA_AGENTS_API_KEY: KEY }, 'luma-agents'],
  [{ LUMAAI_API_KEY: KEY }, 'luma-dream-machine'],
])('with %j alone, %s does everything', async (env, name) => {
  expect(await opened(env)).toMatchObject({ names: [name], image: name, video: name })
})

test('a model can be chosen only where the operator named several', async () => {
  const env = { KIE_API_KEY: KEY, FAL_KEY: KEY, KIE_IMAGE_MODEL: 'a,b', FAL_VIDEO_MODEL: 'c/d,e/f' }
  expect((await opened(env)).models).toEqual({ image: ['a', 'b'], video: undefined })
  expect((await opened({ ...env, VIDEO_PROVIDER: 'fal' })).models).toEqual({
    image: ['a', 'b'],
    video: ['c/d', 'e/f'],
  })
})

test('a gateway for videos makes videos only, and it is said that images are not offered', async () => {
  const { image, video, lines } = await opened({ OPENAI_VIDEOS_API_KEY: KEY })
  expect({ image, video }).toEqual({ image: undefined, video: 'openai-videos' })
  expect(lines.join()).toContain('no provider with a key makes images')
})

test('with several keys KIE does it unless another is named, and all of them are there', async () => {
  expect(await opened(KEYS)).toMatchObject({
    names: Object.keys(readProviderSettings({}).vendors),
    image: 'kie',
  })
  expect(await opened({ ...KEYS, IMAGE_PROVIDER: 'fal', VIDEO_PROVIDER: 'openai-videos' })).toMatchObject({
    image: 'fal',
    video: 'openai-videos',
  })
})

test('several keys without KIE need a word on who does it', async () => {
  const env = { FAL_KEY: KEY, RUNWAYML_API_SECRET: KEY }
  await expect(opened(env)).rejects.toThrow(
    /fal, runway could all make images. Say which one does: IMAGE_PROVIDER=fal/,
  )
  await expect(opened({ ...env, IMAGE_PROVIDER: 'fal' })).rejects.toThrow(/could all make videos/)
  expect(await opened({ ...env, IMAGE_PROVIDER: 'fal', VIDEO_PROVIDER: 'runway' })).toMatchObject({
    image: 'fal',
    video: 'runway',
  })
})

test('who is named must have a key', async () => {
  await expect(opened({ KIE_API_KEY: KEY, IMAGE_PROVIDER: 'runway' })).rejects.toThrow(
    'IMAGE_PROVIDER is "runway", which has no key. Set RUNWAYML_API_SECRET, or choose another.',
  )
})

test('the simulator makes what nobody with a key does, and gives way to a real key', async () => {
  expect(await opened({}, true)).toMatchObject({ names: ['kie'], image: 'kie', video: 'kie' })
  expect(await opened({ OPENAI_VIDEOS_API_KEY: KEY }, true)).toMatchObject({
    names: ['kie', 'openai-videos'],
    image: 'kie',
    video: 'openai-videos',
  })
  expect(await opened({ RUNWAYML_API_SECRET: KEY, IMAGE_PROVIDER: 'kie' }, true)).toMatchObject({
    image: 'kie',
    video: 'runway',
  })
})

test('without any key there is no provider', () => {
  expect(hasProvider(readProviderSettings({}))).toBe(false)
  expect(hasProvider(readProviderSettings({ LUMAAI_API_KEY: KEY }))).toBe(true)
})
