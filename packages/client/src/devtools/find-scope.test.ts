import { Window } from 'happy-dom'
import { expect, it } from 'vitest'
import type { Insight } from '../index.ts'
import { findScope } from './find-scope.ts'

const lease = { owner: 'tab-1', epoch: 2, expiresAt: 5 }
const insight = { userId: 'a:b@c', session: { lease } } as unknown as Insight

function storageWith(entries: Record<string, unknown>): Storage {
  const { localStorage } = new Window({ url: 'http://localhost:3000' })
  for (const [key, value] of Object.entries(entries)) {
    localStorage.setItem(key, typeof value === 'string' ? value : JSON.stringify(value))
  }
  return localStorage as unknown as Storage
}

it('is where the lease that the client sees is kept, and not that of another app for the same user', () => {
  const storage = storageWith({
    'holdfast:studio%3Aphone:a%3Ab%40c:lease': { ...lease, owner: 'tab-9' },
    'holdfast:studio@staging:a%3Ab%40c:lease': lease,
    'holdfast:studio:someone:lease': lease,
  })
  expect(findScope(insight, storage)).toEqual({
    app: 'holdfast:studio@staging',
    user: 'holdfast:studio@staging:a%3Ab%40c',
  })
})

it('is not known without a user, a lease, storage or a readable value', () => {
  const storage = storageWith({ 'holdfast:app:a%3Ab%40c:lease': lease })
  expect(findScope({ ...insight, userId: null }, storage)).toBeNull()
  expect(findScope({ ...insight, session: null }, storage)).toBeNull()
  expect(findScope(insight, null)).toBeNull()
  expect(findScope(insight, storageWith({ 'holdfast:app:a%3Ab%40c:lease': '{' }))).toBeNull()
  const blocked = {
    get length(): number {
      throw new DOMException('The operation is insecure.', 'SecurityError')
    },
    key: () => null,
    getItem: () => null,
  }
  expect(findScope(insight, blocked)).toBeNull()
})
