import { describe, expect, it, vi } from 'vitest'
import { createMemoryLog } from '../../test/memory-log.ts'
import { untilWritten } from './until-written.ts'

const away = () => Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })
const { log } = createMemoryLog()

describe('untilWritten (P5)', () => {
  it('tries again while the database is away, and returns what was written', async () => {
    const write = vi.fn(async () => 'written')
    for (let times = 0; times < 3; times++) write.mockRejectedValueOnce(away())
    expect(await untilWritten(write, log, new AbortController().signal)).toBe('written')
    expect(write).toHaveBeenCalledTimes(4)
  })

  it.each([
    ['its disk is full', '53100'],
    ['its memory is full', '53200'],
    ['its files cannot be read', '58030'],
    ['a limit for time ended the statement', '57014'],
    ['deadlocks go on', '40P01'],
  ])('tries again while %s', async (_, code) => {
    const write = vi.fn(async () => 'written')
    write.mockRejectedValueOnce(Object.assign(new Error('not now'), { code }))
    expect(await untilWritten(write, log, new AbortController().signal)).toBe('written')
  })

  it('does not repeat what the database refused', async () => {
    const write = vi.fn(async () => {
      throw Object.assign(new Error('no'), { code: '23505' })
    })
    await expect(untilWritten(write, log, new AbortController().signal)).rejects.toThrow('no')
    expect(write).toHaveBeenCalledTimes(1)
  })

  it('gives up when it is told to, so that what started can be stopped', async () => {
    const givenUp = new AbortController()
    const write = vi.fn(async () => {
      throw away()
    })
    const result = untilWritten(write, log, givenUp.signal)
    const rejected = expect(result).rejects.toThrow('ECONNREFUSED')
    await vi.waitFor(() => expect(write).toHaveBeenCalledTimes(1))
    givenUp.abort()
    await rejected
    expect(write).toHaveBeenCalledTimes(2)
  })
})
