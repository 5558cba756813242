import { expect, test } from 'vitest'
import { z } from 'zod'
import { checkParams, modelOfTask } from './check-params.ts'
import { defaultTaskTypes, type TaskType, type TaskTypes } from './task-types.ts'

const check = (types: TaskTypes, params: Record<string, unknown>, type = 'image') =>
  checkParams(types, { type, params }).params
const withModels: TaskTypes = { image: { ...defaultTaskTypes.image, models: ['usual', 'other'] } }

test.each(['image', 'video'])('%s takes a prompt and a shape, and says so of anything else', (type) => {
  const good = { prompt: 'a fox', aspect_ratio: '16:9' }
  expect(check(defaultTaskTypes, good, type)).toEqual(good)
  expect(() => check(defaultTaskTypes, { ...good, num_images: 4, size: '4k' }, type)).toThrow(
    'params: unknown "num_images", "size"; known: prompt, aspect_ratio',
  )
  expect(() => check(defaultTaskTypes, { ...good, model: 'a/video-model' }, type)).toThrow(
    `params.model: the model of "${type}" cannot be chosen; leave it out`,
  )
})

test('all that is wrong is told at once, and not at the length of what was sent', () => {
  const many = Object.fromEntries(Array.from({ length: 500 }, (_, n) => [`${n}-${'x'.repeat(500)}`, n]))
  let message = ''
  try {
    check(defaultTaskTypes, { ...many, prompt: '', model: 'm' })
  } catch (error) {
    message = String(error)
  }
  expect(message).toContain('params.prompt: ')
  expect(message).toContain('params.model: ')
  expect(message).toContain('and 490 more')
  expect(message.length).toBeLessThan(1_500)
})

test('of the models that a type names one may be chosen, else the first is taken', () => {
  expect(check(withModels, { prompt: 'x' })).toEqual({ prompt: 'x', model: 'usual' })
  expect(check(withModels, { prompt: 'x', model: 'other' })).toEqual({ prompt: 'x', model: 'other' })
  for (const model of ['huge', '', 'Other', null, 7, ['other'], { toString: 'other' }]) {
    expect(() => check(withModels, { prompt: 'x', model })).toThrow(
      'params.model: must be one of usual, other',
    )
  }
  expect(() => check(withModels, { prompt: 'x', n: 2 })).toThrow('known: prompt, aspect_ratio, model')
})

test('a schema that takes anything takes no model', () => {
  const loose: TaskTypes = { image: { ...defaultTaskTypes.image, params: z.looseObject({}) } }
  expect(check(loose, { seed: 7 })).toEqual({ seed: 7 })
  expect(() => check(loose, { seed: 7, model: 'm' })).toThrow('cannot be chosen')
})

test('a list that has changed since a task was stored is the one that counts', () => {
  const type = (models?: string[]): TaskType => ({ ...defaultTaskTypes.image, ...(models && { models }) })
  expect(modelOfTask(type(['a', 'b']), { model: 'b' })).toBe('b')
  expect(modelOfTask(type(['a']), { model: 'b' })).toBe('a')
  expect(modelOfTask(type(['a']), {})).toBe('a')
  expect(modelOfTask(type(), { model: 'b' })).toBeUndefined()
  expect(modelOfTask(undefined, { model: 'b' })).toBeUndefined()
})
