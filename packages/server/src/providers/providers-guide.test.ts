import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { PROVIDER_ENVIRONMENT, readProviderSettings } from '../provider-settings.ts'
import { createFal } from './fal/fal.ts'
import { FAL_BEHAVIOURS } from './fal/simulator/start-fal-simulator.ts'
import { createKie } from './kie/kie.ts'
import { BEHAVIOURS as KIE_BEHAVIOURS } from './kie/simulator/behaviours.ts'
import { createLumaAgents } from './luma-agents/luma-agents.ts'
import { LUMA_AGENTS_WORDS } from './luma-agents/simulator/generation-object.ts'
import { createLumaDreamMachine } from './luma-dream-machine/luma-dream-machine.ts'
import { DREAM_MACHINE_WORDS } from './luma-dream-machine/simulator/generation-object.ts'
import { createOpenAiVideos } from './openai-videos/openai-videos.ts'
import { OPENAI_VIDEOS_WORDS } from './openai-videos/simulator/video-object.ts'
import type { Provider } from './provider.ts'
import { createReplicate } from './replicate/replicate.ts'
import { REPLICATE_BEHAVIOURS } from './replicate/simulator/start-replicate-simulator.ts'
import { createRunway } from './runway/runway.ts'
import { RUNWAY_WORDS } from './runway/simulator/task-object.ts'
import { COMMON_BEHAVIOURS } from './simulation/behaviours.ts'

const guide = await readFile(new URL('../../../../docs/PROVIDERS.md', import.meta.url), 'utf8')
const lines = new Set(guide.split('\n'))

test('the example of the guide is the provider that the tests run', async () => {
  const source = await readFile(new URL('../../test/example-provider.ts', import.meta.url), 'utf8')
  expect(guide).toContain(`\`\`\`ts\n${source}\`\`\``)
})

test('every setting and every default model is in the guide', () => {
  const missing = PROVIDER_ENVIRONMENT.map(([name]) => name).filter((name) => !guide.includes(`\`${name}\``))
  expect(missing).toEqual([])
  for (const { models } of Object.values(readProviderSettings({}).vendors)) {
    for (const model of Object.values(models)) expect(guide).toContain(`(${model})`)
  }
})

const given = { apiKey: 'a-key-for-tests', models: {} }
const providers: Provider[] = [
  createKie(given),
  createReplicate(given),
  createFal(given),
  createRunway(given),
  createLumaAgents(given),
  createLumaDreamMachine(given),
  createOpenAiVideos({ ...given, baseUrl: 'https://gateway.example.com/v1', webhookSecret: 'whsec_x' }),
]

test.each(providers.map((provider) => [provider.name, provider] as const))(
  'what the guide promises of %s is what it has',
  async (name, provider) => {
    const row = guide.split('\n').find((line) => line.startsWith(`| \`${name}\` | `))
    const [, , cancels, webhooks, , , refresh, finds, polls] =
      row?.split('|').map((cell) => cell.trim()) ?? []
    const has = (cell: string | undefined) => cell !== 'no' && cell !== 'none'
    expect({
      cancel: has(cancels),
      webhooks: has(webhooks),
      refresh: has(refresh),
      finds: has(finds),
    }).toEqual({
      cancel: provider.cancel !== undefined,
      webhooks: provider.readWebhook !== undefined,
      refresh: provider.refresh !== undefined,
      finds: provider.find !== undefined,
    })
    expect(polls).toBe(`${provider.limits.minPollMs / 1000} s apart`)
    await provider.close()
  },
)

test.each([
  ['all simulators', COMMON_BEHAVIOURS],
  ['KIE', KIE_BEHAVIOURS],
  ['Replicate', REPLICATE_BEHAVIOURS],
  ['fal', FAL_BEHAVIOURS],
  ['Runway', RUNWAY_WORDS],
  ['Luma Agents', LUMA_AGENTS_WORDS],
  ['Luma Dream Machine', DREAM_MACHINE_WORDS],
  ['OpenAI videos', OPENAI_VIDEOS_WORDS],
])('the words that %s know are in the guide, with what they do', (_name, words) => {
  const rows = Object.entries(words).map(([word, meaning]) => `| \`[${word}]\` | ${meaning} |`)
  expect(rows.filter((row) => !lines.has(row))).toEqual([])
})
