import { expect, test } from 'vitest'
import { userIdFromToken } from './user-id-from-token.ts'

const base64url = (text: string) =>
  btoa(String.fromCharCode(...new TextEncoder().encode(text)))
    .replace(/\+/g, '-')
    .replace(/\//g, '_')
    .replace(/=+$/, '')

const tokenWith = (claims: unknown) => `e30.${base64url(JSON.stringify(claims))}.signature`

test('the subject is the user', () => {
  expect(userIdFromToken(tokenWith({ sub: 'zoë-✓?>' }))).toBe('zoë-✓?>')
})

test.each([
  ['', 'nothing'],
  ['hello', 'one word'],
  ['a.***.c', 'not base64'],
  [`a.${btoa('hi')}.c`, 'not JSON'],
  [tokenWith({}), 'no subject'],
  [tokenWith({ sub: '' }), 'an empty subject'],
  [tokenWith(null), 'no claims'],
])('"%s" (%s) names no user', (token) => {
  expect(userIdFromToken(token)).toBeNull()
})
