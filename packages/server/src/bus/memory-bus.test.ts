import { describe, expect, it } from 'vitest'
import { createMemoryBus } from './memory-bus.ts'

describe('the memory bus', () => {
  it('tells every listener of that user, and no other', () => {
    const bus = createMemoryBus()
    const heard: string[] = []
    bus.subscribe('ada', () => heard.push('ada 1'))
    bus.subscribe('ada', () => heard.push('ada 2'))
    bus.subscribe('bob', () => heard.push('bob'))
    bus.publish('ada')
    bus.publish('nobody')
    expect(heard).toEqual(['ada 1', 'ada 2'])
  })

  it('knows who is watched until the last listener has gone, however often it goes', () => {
    const bus = createMemoryBus()
    expect(bus.isWatched('ada')).toBe(false)
    const first = bus.subscribe('ada', () => {})
    const second = bus.subscribe('ada', () => {})
    first()
    first()
    expect(bus.isWatched('ada')).toBe(true)
    second()
    expect(bus.isWatched('ada')).toBe(false)
    bus.subscribe('ada', () => {})
    second()
    expect(bus.isWatched('ada')).toBe(true)
  })

  it('bears a listener that leaves while it is told', () => {
    const bus = createMemoryBus()
    const heard: string[] = []
    const leave = bus.subscribe('ada', () => leave())
    bus.subscribe('ada', () => heard.push('second'))
    bus.publish('ada')
    bus.publish('ada')
    expect(heard).toEqual(['second', 'second'])
  })
})
