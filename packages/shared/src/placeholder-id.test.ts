import { expect, it } from 'vitest'
import { placeholderIdOf } from './placeholder-id.ts'

it('keeps the placeholder that the submitting device named (F7)', () => {
  expect(placeholderIdOf({ id: 'task-1', placeholderId: 'mine' })).toBe('mine')
})

it('derives one from the task otherwise, the same on every device (F7)', () => {
  expect(placeholderIdOf({ id: 'task-1', placeholderId: null })).toBe('placeholder-task-1')
  expect(placeholderIdOf({ id: 'task-2', placeholderId: null })).not.toBe(
    placeholderIdOf({ id: 'task-1', placeholderId: null }),
  )
})
