import { expect, test } from 'vitest'
import { conversationTitle } from './conversation-title.ts'

test('a short prompt is the title', () => {
  expect(conversationTitle('  A lighthouse\n in fog ')).toBe('A lighthouse in fog')
})

test('a long one is cut between words', () => {
  expect(
    conversationTitle('A lighthouse in heavy fog, painted in ink and watercolour by a patient hand'),
  ).toBe('A lighthouse in heavy fog, painted in ink and watercolour…')
})

test('one endless word is cut anyway', () => {
  expect(conversationTitle('x'.repeat(100))).toBe(`${'x'.repeat(60)}…`)
})
