import { expect, test } from 'vitest'
import { hrefOf, parseRoute, type Route } from './route.ts'

test.each<Route>([
  { at: 'start' },
  { at: 'new' },
  { at: 'unfiled' },
  { at: 'conversation', conversationId: '0198a1c2-7f00-7000-8000-000000000001' },
])('the address of $at leads back to it', (route) => {
  expect(parseRoute(hrefOf(route))).toEqual(route)
})

test.each(['', '#', '#/nowhere', '#/conversations/', '#/conversations/a/b'])('"%s" is the start', (hash) => {
  expect(parseRoute(hash)).toEqual({ at: 'start' })
})
