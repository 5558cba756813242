import { expect, test } from 'vitest'
import { pageTitle } from './page-title.ts'

test.each([
  [0, 0, 'Holdfast Studio'],
  [2, 0, '(2) Holdfast Studio'],
  [0, 3, '3 working · Holdfast Studio'],
  [1, 1, '(1) 1 working · Holdfast Studio'],
])('%i unread and %i working reads "%s"', (unread, working, title) => {
  expect(pageTitle({ unread, working })).toBe(title)
})
