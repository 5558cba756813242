import fc from 'fast-check'
import { afterEach, describe, expect, it } from 'vitest'
import { createMemoryLog } from '../../test/memory-log.ts'
import { type SmallReply, startSmallServer } from '../../test/small-server.ts'
import { checkApiKey, createKeyScrubber } from './api-key.ts'
import { createFal } from './fal/fal.ts'
import { createHttpApi } from './http-api/http-api.ts'
import { createKie } from './kie/kie.ts'
import { createLumaAgents } from './luma-agents/luma-agents.ts'
import { createLumaDreamMachine } from './luma-dream-machine/luma-dream-machine.ts'
import { createOpenAiVideos } from './openai-videos/openai-videos.ts'
import type { Provider } from './provider.ts'
import { createReplicate } from './replicate/replicate.ts'
import { createRunway } from './runway/runway.ts'

const never = new AbortController().signal
const cleanups: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const clean of cleanups.splice(0).reverse()) await clean()
})

async function answering(answer: SmallReply): Promise<string> {
  const server = await startSmallServer(() => answer)
  cleanups.push(() => server.close())
  return server.url
}
function opened(provider: Provider): Provider {
  cleanups.push(() => provider.close())
  return provider
}

const request = { taskId: 't', type: 'video', params: { prompt: 'a fox' } }
const models = { video: 'any/model' }
type Open = (options: { apiKey: string; baseUrl: string; models: Record<string, string> }) => Provider
const acme: Open = (options) =>
  createHttpApi({
    ...options,
    name: 'acme',
    create: ({ params }) => ({ path: '/jobs', json: params }),
    readCreate: ({ json }) => ({ kind: 'accepted', externalId: (json as { id: string }).id }),
    query: (id) => ({ path: `/jobs/${id}` }),
    readQuery: ({ json }) => ({ kind: 'succeeded', outputs: [{ url: (json as { url: string }).url }] }),
  })
/** What each calls the id in its reply to a create, and the id that is made of it. */
const ADAPTERS: [string, Open, (id: string) => unknown, (id: string) => string][] = [
  ['any HTTP API', acme, (id) => ({ id }), (id) => id],
  ['kie', createKie, (taskId) => ({ code: 200, data: { taskId } }), (id) => id],
  ['replicate', createReplicate, (id) => ({ id }), (id) => id],
  ['fal', createFal, (request_id) => ({ request_id }), (id) => `any/model:${id}`],
  ['runway', createRunway, (id) => ({ id }), (id) => id],
  ['luma-agents', createLumaAgents, (id) => ({ id }), (id) => id],
  ['luma-dream-machine', createLumaDreamMachine, (id) => ({ id }), (id) => id],
  ['openai-videos', createOpenAiVideos, (id) => ({ id }), (id) => id],
]

describe.each(ADAPTERS)('the key of %s', (_name, open, reply, externalId) => {
  it.each([
    ['any', 'task-of-many'],
    ['a-key-of-tests', 'job-a-key-of-tests-7'],
  ])('with the key %j the id %j comes as it was given out', async (apiKey, id) => {
    const baseUrl = await answering({ status: 201, json: reply(id) })
    const outcome = await opened(open({ apiKey, baseUrl, models })).create(request, never)
    expect(outcome).toEqual({ kind: 'accepted', externalId: externalId(id) })
  })

  it('too short to be one, it is refused at once, unless the vendor is a simulator on this machine', () => {
    const start = (apiKey: string, baseUrl: string) => () => opened(open({ apiKey, baseUrl, models }))
    for (const baseUrl of [
      'https://api.example.com',
      'http://127.0.0.1.example.com',
      'https://localhost.example',
    ]) {
      expect(start('any', baseUrl)).toThrow(/The API key for .+ has fewer than 8 characters/)
      expect(start('1234567', baseUrl)).toThrow('fewer than 8 characters')
      expect(start('12345678', baseUrl)).not.toThrow()
    }
    for (const baseUrl of [
      'http://127.0.0.1:9',
      'http://localhost:9/v1',
      'http://[::1]:9',
      'http://sim.localhost',
    ]) {
      expect(start('any', baseUrl)).not.toThrow()
    }
  })

  it('is in no message when the vendor echoes it, wherever the words are cut', async () => {
    const apiKey = 'a-key-of-tests-0123456789'
    for (const padding of [0, 150, 180, 190, 980]) {
      const words = `${' '.repeat(padding)}${'x'.repeat(padding % 200)} ${apiKey} is wrong`
      const baseUrl = await answering({ status: 422, json: { code: 422, msg: words, error: words } })
      const outcome = await opened(open({ apiKey, baseUrl, models })).create(request, never)
      expect(outcome).toMatchObject({ kind: 'refused' })
      expect(JSON.stringify(outcome)).not.toContain(apiKey.slice(0, 8))
    }
  })
})

it('files are where the vendor says, also if its key is in their address', async () => {
  const apiKey = 'a-key-of-tests'
  const url = `https://files.example.com/${apiKey}/1.png`
  const api = opened(acme({ apiKey, baseUrl: await answering({ json: { url } }), models }))
  expect(await api.query('1', never)).toMatchObject({ kind: 'succeeded', outputs: [{ url }] })
})

it('a status that nobody knows is logged without the key', async () => {
  const { log, lines } = createMemoryLog()
  const baseUrl = await answering({ json: { id: '1', status: 'refused a-key-of-tests' } })
  const runway = opened(createRunway({ apiKey: 'a-key-of-tests', baseUrl, models, log }))
  expect(await runway.query('1', never)).toMatchObject({ kind: 'running' })
  expect(lines.join()).toContain('refused [key]')
  expect(lines.join()).not.toContain('a-key-of')
})

it('no beginning of eight characters is left, and nothing else is touched', () => {
  const key = 'sk-0123456789'
  const scrub = createKeyScrubber(key)
  expect(scrub('key sk-0123456789, then sk-01234x and sk-0123')).toBe('key [key], then [key]x and sk-0123')
  expect(createKeyScrubber(null)('as it is')).toBe('as it is')
  expect(createKeyScrubber('any')('anything at any time')).toBe('anything at any time')
  fc.assert(
    fc.property(fc.string(), fc.nat(key.length), fc.string(), (before, length, after) => {
      const text = `${before}${key.slice(0, length)}${after}`
      const clean = scrub(text)
      expect(clean).not.toContain(key.slice(0, 8))
      if (!text.includes(key.slice(0, 8))) expect(clean).toBe(text)
    }),
  )
})

it('a key that no header can carry is refused without quoting it', () => {
  for (const key of ['', 'two\nlines', 'schlüssel-0123']) {
    expect(() => checkApiKey('Acme', key, new URL('http://127.0.0.1'))).toThrow(
      'The API key for Acme is empty or has characters that no header can carry. Copy it anew.',
    )
  }
})
