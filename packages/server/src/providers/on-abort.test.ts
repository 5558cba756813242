import { describe, expect, it } from 'vitest'
import { onAbort } from './on-abort.ts'

describe('onAbort', () => {
  it('calls every listener once, except those that were undone', () => {
    const controller = new AbortController()
    const heard: string[] = []
    onAbort(controller.signal, () => heard.push('a'))
    const undo = onAbort(controller.signal, () => heard.push('b'))
    onAbort(controller.signal, () => heard.push('c'))
    undo()
    controller.abort()
    expect(heard).toEqual(['a', 'c'])
  })

  it('keeps signals apart', () => {
    const [one, other] = [new AbortController(), new AbortController()]
    const heard: string[] = []
    onAbort(one.signal, () => heard.push('one'))
    onAbort(other.signal, () => heard.push('other'))
    other.abort()
    expect(heard).toEqual(['other'])
  })

  it('lets a listener undo another while they are called', () => {
    const controller = new AbortController()
    const heard: string[] = []
    onAbort(controller.signal, () => {
      heard.push('first')
      undo()
    })
    const undo = onAbort(controller.signal, () => heard.push('second'))
    controller.abort()
    expect(heard[0]).toBe('first')
  })
})
