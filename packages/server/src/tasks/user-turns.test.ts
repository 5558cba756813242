import { describe, expect, it } from 'vitest'
import { createUserTurns } from './user-turns.ts'

describe('turns of users', () => {
  it('one at a time for each, in order, and side by side for different ones', async () => {
    const takeTurn = createUserTurns(10)
    const done: string[] = []
    const first = Promise.withResolvers<void>()
    const ada = [
      takeTurn('ada', async () => {
        await first.promise
        done.push('ada 1')
      }),
      takeTurn('ada', async () => done.push('ada 2')),
    ]
    await takeTurn('bob', async () => done.push('bob'))
    expect(done).toEqual(['bob'])
    first.resolve()
    await Promise.all(ada)
    expect(done).toEqual(['bob', 'ada 1', 'ada 2'])
  })

  it('one that fails does not hold up the next', async () => {
    const takeTurn = createUserTurns(10)
    const failed = takeTurn('ada', () => Promise.reject(new Error('no')))
    const next = takeTurn('ada', async () => 'done')
    await expect(failed).rejects.toThrow('no')
    expect(await next).toBe('done')
  })

  it('refuses more than may wait, and takes them again once there is room', async () => {
    const takeTurn = createUserTurns(2)
    const gate = Promise.withResolvers<void>()
    const waiting = [takeTurn('ada', () => gate.promise), takeTurn('ada', async () => {})]
    await expect(takeTurn('ada', async () => {})).rejects.toMatchObject({ code: 'RATE_LIMITED' })
    gate.resolve()
    await Promise.all(waiting)
    expect(await takeTurn('ada', async () => 'done')).toBe('done')
  })
})
