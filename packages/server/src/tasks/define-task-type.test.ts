import type { FilesResult, TaskInput, TaskOf, TaskOutput, TaskTypesOf } from '@holdfast/shared'
import { expect, expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import type { HoldfastConfig } from '../create-holdfast.ts'
import { defineProvider } from '../providers/define-provider.ts'
import { defineTaskType } from './define-task-type.ts'

const gpu = defineProvider({
  name: 'my-gpu',
  create: async () => ({ kind: 'accepted', externalId: '1' }),
  query: async () => ({ kind: 'running', progress: null }),
})
const types = {
  portrait: defineTaskType({
    provider: gpu,
    params: z.object({ prompt: z.string(), steps: z.int().default(20) }),
    deadlineMs: 600_000,
    expectedMs: 20_000,
  }),
  film: defineTaskType({
    provider: 'elsewhere',
    params: z.looseObject({ scene: z.string() }),
    result: z.object({ outputs: z.tuple([z.custom<TaskOutput>()]) }),
    deadlineMs: 1_800_000,
    expectedMs: 60_000,
    watchedPollMs: 10_000,
    whenSilent: 'keep',
  }),
  poster: defineTaskType({
    provider: gpu,
    params: z.strictObject({ prompt: z.string() }),
    models: ['fast', 'fine'],
    credits: ({ model }) => (model === 'fine' ? 4 : 1),
    deadlineMs: 600_000,
    expectedMs: 20_000,
  }),
}
type AppTasks = TaskTypesOf<typeof types>

test('a definition is a task type like any other', () => {
  expect(types.portrait).toMatchObject({ provider: 'my-gpu', deadlineMs: 600_000, watchedPollMs: 5_000 })
  expect(types.portrait.params.parse({ prompt: 'x' })).toEqual({ prompt: 'x', steps: 20 })
  expect(types.film).toMatchObject({ provider: 'elsewhere', watchedPollMs: 10_000, whenSilent: 'keep' })
  expect(Object.keys(types.film)).not.toContain('result')
  expectTypeOf(types).toExtend<NonNullable<HoldfastConfig['types']>>()
})

test('the types of an app are made of it', () => {
  expectTypeOf<TaskInput<AppTasks, 'portrait'>>().toEqualTypeOf<{
    prompt: string
    steps?: number | undefined
  }>()
  expectTypeOf<TaskOf<AppTasks, 'portrait'>['params']>().toEqualTypeOf<{ prompt: string; steps: number }>()
  expectTypeOf<TaskOf<AppTasks, 'portrait'>['result']>().toEqualTypeOf<FilesResult | null>()
  expectTypeOf<NonNullable<TaskOf<AppTasks, 'film'>['result']>['outputs']>().toEqualTypeOf<[TaskOutput]>()
  expectTypeOf<TaskInput<AppTasks, 'poster'>>().toExtend<{ prompt: string }>()
  expectTypeOf<TaskInput<AppTasks, 'poster'>['model']>().toEqualTypeOf<'fast' | 'fine' | undefined>()
  expectTypeOf<TaskOf<AppTasks, 'poster'>['params']['model']>().toEqualTypeOf<'fast' | 'fine'>()
  expectTypeOf(gpu.name).toEqualTypeOf<'my-gpu'>()
})

test('what does not fit does not compile', () => {
  // @ts-expect-error: steps must be a number
  const _wrong: TaskInput<AppTasks, 'portrait'> = { prompt: 'x', steps: 'many' }
  // @ts-expect-error: it is not among the models
  const _other: TaskInput<AppTasks, 'poster'> = { prompt: 'x', model: 'huge' }
  // @ts-expect-error: the model cannot be chosen
  const _chosen: TaskInput<AppTasks, 'portrait'> = { prompt: 'x', model: 'fast' }
  // @ts-expect-error: there is no such type
  type _Unknown = TaskInput<AppTasks, 'music'>
  const common = { provider: 'x', deadlineMs: 1, expectedMs: 1 }
  // @ts-expect-error: parameters are an object
  defineTaskType({ ...common, params: z.string() })
  const params = z.object({})
  // @ts-expect-error: a result has files
  defineTaskType({ ...common, params, result: z.object({ text: z.string() }) })
})

test.each(['deadlineMs', 'expectedMs', 'watchedPollMs', 'waitLimitMs', 'silentAfterMs'])(
  '%s must be above 0',
  (name) => {
    const definition = { provider: 'x', params: z.object({}), deadlineMs: 1, expectedMs: 1 }
    for (const value of [0, -1, Number.NaN, Number.POSITIVE_INFINITY]) {
      expect(() => defineTaskType({ ...definition, [name]: value })).toThrow(`has ${name}: ${value}`)
    }
  },
)

test('models are named beside the parameters, at least one', () => {
  const common = { provider: 'x', deadlineMs: 1, expectedMs: 1 }
  expect(types.poster).toMatchObject({ models: ['fast', 'fine'] })
  expect(() => defineTaskType({ ...common, params: z.object({ model: z.string() }) })).toThrow(
    `A task type for x has "model" in its params. Name what may be chosen in models: ['…'] instead.`,
  )
  const models: [string, ...string[]] = ['']
  expect(() => defineTaskType({ ...common, params: z.object({}), models })).toThrow('models without a name')
})
