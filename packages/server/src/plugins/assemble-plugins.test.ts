import { describe, expect, it } from 'vitest'
import { scriptedTypes } from '../../test/scripted-types.ts'
import { assemblePlugins, type PluginSettings } from './assemble-plugins.ts'

const namesOf = (settings: PluginSettings) =>
  assemblePlugins(settings, scriptedTypes('nobody')).map(({ name }) => name)

describe('what joins', () => {
  it('is asked in the order in which locks are taken, and the app last', () => {
    expect(namesOf({})).toEqual(['credits', 'conversations'])
    expect(namesOf({ onSettled: () => {}, plugins: [{ name: 'search' }] })).toEqual([
      'credits',
      'conversations',
      'search',
      'app',
    ])
    expect(namesOf({ conversations: false })).toEqual(['credits', 'no-conversations'])
  })

  it('credits are essential, and hold nothing unless they are switched on', () => {
    const [off] = assemblePlugins({}, scriptedTypes('nobody'))
    const [on] = assemblePlugins({ credits: {} }, scriptedTypes('nobody'))
    expect([off?.essential, off?.onSubmit, on?.essential]).toEqual([true, undefined, true])
    expect(on?.onSubmit).toBeTypeOf('function')
  })

  it.each<[string, PluginSettings, RegExp]>([
    ['a name twice', { plugins: [{ name: 'x' }, { name: 'x' }] }, /"x" is not/],
    ['a name of ours', { plugins: [{ name: 'credits' }] }, /"credits" is not/],
    ['no name', { plugins: [{ name: '' }] }, /"" is not/],
    ['half an initial credit', { credits: { initial: 0.5 } }, /credits.initial is 0.5/],
    ['less than none', { credits: { initial: -1 } }, /credits.initial is -1/],
  ])('%s is refused at the start', (_, settings, message) => {
    expect(() => namesOf(settings)).toThrow(message)
  })

  it('so is a price that nobody could pay', () => {
    const types = scriptedTypes('nobody', { credits: -4 })
    expect(() => assemblePlugins({ credits: {} }, types)).toThrow('The price of task type "image" is -4')
    expect(() => assemblePlugins({}, types)).not.toThrow()
  })
})
