import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { type SmallRequest, startSmallServer } from '../../test/small-server.ts'
import { HoldfastError } from '../errors.ts'
import { checkParams } from '../tasks/check-params.ts'
import { defaultTaskTypes, type TaskTypes } from '../tasks/task-types.ts'
import { createFal } from './fal/fal.ts'
import { createKie } from './kie/kie.ts'
import { createLumaAgents } from './luma-agents/luma-agents.ts'
import { createLumaDreamMachine } from './luma-dream-machine/luma-dream-machine.ts'
import { createOpenAiVideos } from './openai-videos/openai-videos.ts'
import type { Provider } from './provider.ts'
import { createReplicate } from './replicate/replicate.ts'
import { createRunway } from './runway/runway.ts'

type Json = Record<string, unknown>
interface Vendor {
  open(options: { apiKey: string; baseUrl: string; models: Record<string, string> }): Provider
  /** What is set for videos. */
  model: string
  /** What the vendor reads as the input of the model. */
  input?: (body: Json) => unknown
  /** What the adapter itself may add to the parameters of our own types. */
  own: string[]
}

const VENDORS: Record<string, Vendor> = {
  kie: {
    open: createKie,
    model: 'sora-2',
    input: ({ input }) => input,
    own: ['model', 'callBackUrl', 'input'],
  },
  replicate: {
    open: createReplicate,
    model: 'owner/video',
    input: ({ input }) => input,
    own: ['webhook', 'webhook_events_filter', 'input'],
  },
  fal: { open: createFal, model: 'fal-ai/video', own: [] },
  runway: { open: createRunway, model: 'gen4.5', own: ['model', 'promptText', 'ratio', 'duration'] },
  'luma-agents': { open: createLumaAgents, model: 'ray-3.2', own: ['model', 'type'] },
  'luma-dream-machine': { open: createLumaDreamMachine, model: 'ray-2', own: ['model', 'callback_url'] },
  'openai-videos': { open: createOpenAiVideos, model: 'sora-2', own: ['model', 'size'] },
  'openai-videos as a form': {
    open: (options) => createOpenAiVideos({ ...options, createAs: 'multipart' }),
    model: 'sora-2',
    own: ['model', 'size'],
  },
}

/** Whatever a user puts into a reserved name can be told from all that is ours. */
const EVIL = 'evil-7c1'
const HOOK = 'https://us.example/v1/webhooks/x/task/secret'
const OUR_OWN = ['prompt', 'aspect_ratio']
const never = new AbortController().signal

let server: Awaited<ReturnType<typeof startSmallServer>>
beforeAll(async () => {
  server = await startSmallServer(() => ({ status: 400, json: { error: 'no' } }))
})
afterAll(() => server.close())

const RESERVED = [
  'callback_url',
  'callBackUrl',
  'fal_webhook',
  'model',
  'stream',
  'version',
  'webhook',
  'webhook_events_filter',
]
/** As a user may spell it who hopes that only one spelling is looked at. */
const reservedName = fc
  .tuple(
    fc.constantFrom(...RESERVED),
    fc.array(fc.constantFrom('as-is', 'upper', '_', '-'), { maxLength: 12 }),
  )
  .map(([name, changes]) =>
    [...name]
      .map((letter, index) => {
        const change = changes[index] ?? 'as-is'
        if (change === 'upper') return letter.toUpperCase()
        return change === 'as-is' ? letter : letter + change
      })
      .join(''),
  )
const evil = fc.oneof(
  fc.constant(EVIL),
  fc.constant(`https://${EVIL}.example/hook`),
  fc.constant([EVIL]),
  fc.constant({ url: EVIL }),
)
const priced = fc.constantFrom(
  'n',
  'num_images',
  'num_outputs',
  'samples',
  'size',
  'seconds',
  'duration',
  'ratio',
  'resolution',
  'promptImage',
  'promptText',
  'type',
  'input',
  'keyframes',
  'seed',
  '__proto__',
  'constructor',
)
const hostileParams = fc
  .tuple(
    fc.dictionary(reservedName, evil, { maxKeys: 4 }),
    fc.dictionary(fc.oneof(priced, fc.string({ maxLength: 12 })), evil, { maxKeys: 4 }),
  )
  .map(([reserved, others]): Json => ({ ...others, ...reserved }))

describe.each(Object.entries(VENDORS))('what %s is given', (_name, { open, model, input, own }) => {
  /** What the vendor received, if anything. */
  async function sent(params: Json, callbackUrl?: string): Promise<SmallRequest | null> {
    const provider = open({ apiKey: 'a-key-for-tests', baseUrl: server.url, models: { video: model } })
    server.requests.splice(0)
    await provider.create(
      { taskId: 't', type: 'video', params, ...(callbackUrl ? { callbackUrl } : {}) },
      never,
    )
    await provider.close()
    expect(server.requests.length).toBeLessThanOrEqual(1)
    return server.requests[0] ?? null
  }
  const fieldsOf = ({ headers, body }: SmallRequest): Json =>
    headers['content-type']?.startsWith('multipart/')
      ? Object.fromEntries(
          [...body.matchAll(/ name="([^"]*)"\r\n\r\n(.*)\r\n/g)].map(([, name, value]) => [name, value]),
        )
      : JSON.parse(body)

  it('our own types: only what they name', async () => {
    await fc.assert(
      fc.asyncProperty(hostileParams, fc.boolean(), async (hostile, isReachable) => {
        let params: Json
        try {
          params = checkParams(defaultTaskTypes, {
            type: 'video',
            params: { ...hostile, prompt: 'a fox' },
          }).params
        } catch (error) {
          expect(error).toMatchObject({ code: 'INVALID_PARAMS' })
          expect(error).toBeInstanceOf(HoldfastError)
          expect(Object.keys(hostile)).not.toEqual([])
          params = checkParams(defaultTaskTypes, { type: 'video', params: { prompt: 'a fox' } }).params
        }
        const request = await sent(params, isReachable ? HOOK : undefined)
        if (!request) throw new Error('nothing was sent')
        const fields = fieldsOf(request)
        expect(Object.keys(fields).filter((name) => ![...own, ...OUR_OWN].includes(name))).toEqual([])
        expect(
          Object.keys((input?.(fields) ?? {}) as Json).filter((name) => !OUR_OWN.includes(name)),
        ).toEqual([])
        expect(JSON.stringify(request)).not.toContain(EVIL)
      }),
      { numRuns: 40 },
    )
  })

  it('a type of the operator’s that takes anything: reserved names stay ours, everything else passes', async () => {
    const types: TaskTypes = {
      video: { ...defaultTaskTypes.video, params: z.looseObject({ prompt: z.string() }) },
    }
    await fc.assert(
      fc.asyncProperty(
        fc.dictionary(reservedName, evil, { minKeys: 1, maxKeys: 5 }),
        fc.boolean(),
        async (reserved, isReachable) => {
          const params: Json = { ...reserved, prompt: 'a fox', seed: 7 }
          // What the server lets in, and what an older one may have stored.
          const named = reserved.model !== undefined
          if (named) expect(() => checkParams(types, { type: 'video', params })).toThrow('params.model')
          const request = await sent(params, isReachable ? HOOK : undefined)
          if (!request) throw new Error('nothing was sent')
          expect(JSON.stringify(request)).not.toContain(EVIL)
          const fields = fieldsOf(request)
          expect(Number(((input?.(fields) ?? fields) as Json).seed)).toBe(7)
          if ('model' in fields) expect(fields.model).toBe(model)
          else expect(request.path).toContain(`/${model}`)
        },
      ),
      { numRuns: 40 },
    )
  })
})

it('a type that names its parameters lets no others through', () => {
  const types: TaskTypes = {
    video: { ...defaultTaskTypes.video, params: z.object({ prompt: z.string(), seed: z.int().optional() }) },
  }
  fc.assert(
    fc.property(hostileParams, ({ model: _chosen, seed: _seed, ...hostile }) => {
      const { params } = checkParams(types, {
        type: 'video',
        params: { ...hostile, prompt: 'a fox', seed: 3 },
      })
      expect(params).toEqual({ prompt: 'a fox', seed: 3 })
    }),
    { numRuns: 100 },
  )
})
