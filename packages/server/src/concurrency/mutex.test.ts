import { describe, expect, it } from 'vitest'
import { createMutex } from './mutex.ts'

describe('createMutex', () => {
  it('lets one at a time, in order', async () => {
    const takeTurn = createMutex()
    const log: string[] = []
    const work = (name: string) => async () => {
      log.push(`${name} begins`)
      await Promise.resolve()
      log.push(`${name} ends`)
      return name
    }
    expect(await Promise.all([takeTurn(work('one')), takeTurn(work('two'))])).toEqual(['one', 'two'])
    expect(log).toEqual(['one begins', 'one ends', 'two begins', 'two ends'])
  })

  it('goes on after one that failed', async () => {
    const takeTurn = createMutex()
    const failing = takeTurn(async () => {
      throw new Error('no')
    })
    const next = takeTurn(async () => 'yes')
    await expect(failing).rejects.toThrow('no')
    expect(await next).toBe('yes')
  })
})
