import { describe, expect, it } from 'vitest'
import { HoldfastError } from '../errors.ts'
import { rememberTokens } from './remember-tokens.ts'

function world({ most = 100, expiresInMs = 3_600_000 } = {}) {
  const checked: string[] = []
  const state = { now: 1_000_000, isWithdrawn: false }
  const authenticate = rememberTokens(
    async (token) => {
      checked.push(token)
      if (state.isWithdrawn) throw new HoldfastError('TOKEN_INVALID')
      return {
        userId: token,
        expiresAt: new Date(1_000_000 + expiresInMs),
        admin: false,
        plan: null,
      }
    },
    { most, forMs: 60_000, now: () => state.now },
  )
  return { authenticate, checked, state }
}

describe('a token that was checked', () => {
  it('is not checked again for a while', async () => {
    const { authenticate, checked, state } = world()
    await authenticate('ada')
    state.now += 59_999
    expect((await authenticate('ada')).userId).toBe('ada')
    expect(checked).toEqual(['ada'])
    state.now += 1
    await authenticate('ada')
    expect(checked).toEqual(['ada', 'ada'])
  })

  it('is refused a minute after its key was withdrawn', async () => {
    const { authenticate, state } = world()
    await authenticate('ada')
    state.isWithdrawn = true
    state.now += 60_000
    await expect(authenticate('ada')).rejects.toMatchObject({ code: 'TOKEN_INVALID' })
  })

  it('is checked again when it has expired', async () => {
    const { authenticate, checked, state } = world({ expiresInMs: 5_000 })
    await authenticate('ada')
    state.now += 5_000
    await authenticate('ada')
    expect(checked).toHaveLength(2)
  })

  it('is forgotten when too many others came since', async () => {
    const { authenticate, checked } = world({ most: 3 })
    for (const token of ['a', 'b', 'c', 'd', 'b']) await authenticate(token)
    expect(checked).toEqual(['a', 'b', 'c', 'd'])
    await authenticate('a')
    expect(checked).toEqual(['a', 'b', 'c', 'd', 'a'])
  })

  it('that was refused is checked each time', async () => {
    const { authenticate, checked, state } = world()
    state.isWithdrawn = true
    await expect(authenticate('eve')).rejects.toThrow()
    await expect(authenticate('eve')).rejects.toThrow()
    expect(checked).toEqual(['eve', 'eve'])
  })
})
