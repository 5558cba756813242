import { describe, expect, it } from 'vitest'
import { createMemoryLog } from '../test/memory-log.ts'
import { logFailure, outageLogOf } from './outage-log.ts'

const refused = Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:5432'), { code: 'ECONNREFUSED' })

function open() {
  const { log, lines } = createMemoryLog()
  const clock = { ms: 0 }
  const now = () => clock.ms
  const said = (level = 40) =>
    lines.flatMap((line) => {
      const entry = JSON.parse(line)
      return entry.level === level ? [entry.msg] : []
    })
  return { log, lines, clock, now, said }
}

describe('an outage', () => {
  it('is one line when it begins and one when it is over, for all parts of a process', () => {
    const { log, lines, clock, now, said } = open()
    const lock = outageLogOf(log, 'PostgreSQL', now)
    const stream = outageLogOf(log.child({ traceId: 'x' }), 'PostgreSQL')
    for (clock.ms = 0; clock.ms < 10_000; clock.ms += 500) {
      lock.away(refused)
      stream.away(refused)
      logFailure(log, refused, 'looking for work failed')
    }
    expect(said()).toEqual(['PostgreSQL is out of reach; trying again until it is back'])
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({ reason: 'connect ECONNREFUSED 127.0.0.1:5432' })
    expect(said(20)).toEqual(Array(20).fill('looking for work failed'))
    // Some connection still answers, while others fail.
    lock.back()
    expect(lock.isAway).toBe(true)
    clock.ms += 5_000
    stream.back()
    lock.back()
    expect(said().slice(1)).toEqual(['PostgreSQL is back'])
    expect(JSON.parse(lines.at(-1) ?? '')).toMatchObject({ seconds: 15 })
    stream.away(refused)
    expect(said()).toHaveLength(3)
  })

  it('of one dependency says nothing about another, and other logs have their own', () => {
    const [one, other] = [open(), open()]
    outageLogOf(one.log, 'PostgreSQL').away(refused)
    expect(outageLogOf(one.log, 'Redis').isAway).toBe(false)
    outageLogOf(one.log, 'Redis').away(refused)
    expect(one.said()).toHaveLength(2)
    expect(outageLogOf(other.log, 'PostgreSQL').isAway).toBe(false)
  })

  it('has no stack, and what is no outage has one', () => {
    const { log, lines } = open()
    logFailure(log, refused, 'looking for work failed', { kind: 'poll' })
    expect(lines.join('')).not.toContain('at ')
    logFailure(log, new TypeError('oh'), 'looking for work failed', { kind: 'poll' })
    expect(JSON.parse(lines.at(-1) ?? '')).toMatchObject({
      level: 40,
      kind: 'poll',
      err: { type: 'TypeError' },
    })
    expect(lines.at(-1)).toContain('outage-log.test.ts')
  })
})
