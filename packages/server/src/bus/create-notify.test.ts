import { describe, expect, it } from 'vitest'
import { createMemoryLog } from '../../test/memory-log.ts'
import type { WorkHint } from '../engine/work-queue.ts'
import { createNotify } from './create-notify.ts'
import { createMemoryBus } from './memory-bus.ts'

function start({ tellsEndpoints = false } = {}) {
  const bus = createMemoryBus()
  const told: (string | WorkHint | null)[] = []
  bus.subscribe('ada', (hint) => told.push(hint))
  bus.onWork((hint) => told.push(hint))
  return { notify: createNotify({ bus, log: createMemoryLog().log, tellsEndpoints }), told }
}

describe('what was committed', () => {
  it('is told to the streams of its user, and to nobody else', () => {
    const { notify, told } = start()
    notify.changed('ada')
    notify.changed('bob')
    expect(told).toEqual(['changed'])
  })

  it('is told to the loop that delivers it too, where the app has endpoints', () => {
    const { notify, told } = start({ tellsEndpoints: true })
    notify.changed('ada')
    expect(told).toEqual(['changed', { kind: 'deliver', of: 'endpoints' }])
  })

  it('names the queue that has work, and when', () => {
    const { notify, told } = start()
    notify.due('send', 'kie')
    notify.due('poll', 'kie', 100)
    expect(told).toEqual([
      { kind: 'send', of: 'kie' },
      { kind: 'poll', of: 'kie', inMs: 100 },
    ])
  })

  it('stays here where this replica does the work', () => {
    const reaches: unknown[] = []
    const bus = {
      ...createMemoryBus(),
      publishWork: (_: WorkHint, reach?: string) => void reaches.push(reach),
    }
    const notify = createNotify({ bus, log: createMemoryLog().log })
    notify.dueHere('poll', 'kie', 100)
    notify.due('poll', 'kie')
    expect(reaches).toEqual(['here', 'all'])
  })

  it('fails nobody: whoever throws on hearing it is logged, and the others are told', () => {
    const { log, lines } = createMemoryLog()
    const bus = createMemoryBus()
    const told: (WorkHint | null)[] = []
    bus.subscribe('ada', () => {
      throw new Error('a broken listener')
    })
    bus.onWork((hint) => told.push(hint))
    const notify = createNotify({ bus, log, tellsEndpoints: true })
    notify.changed('ada')
    expect(told).toHaveLength(1)
    expect(lines.join('')).toContain('a broken listener')
  })
})
