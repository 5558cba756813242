import type { OutputState, TaskOutput } from '@holdfast/shared'
import { expect, it } from 'vitest'
import { addressesEnd } from './addresses-end.ts'

const SOON = '2026-11-16T12:00:00.000Z'
const LATER = '2026-11-16T13:00:00.000Z'

const output = (
  state: OutputState,
  urlExpiresAt: string | null,
  url: string | null = '/file',
): TaskOutput => ({
  url,
  contentType: null,
  bytes: null,
  state,
  urlExpiresAt,
  problem: null,
  expiresAt: null,
})

it.each<[string, TaskOutput[], number]>([
  ['a task without files', [], Number.POSITIVE_INFINITY],
  ['the first of several', [output('stored', LATER), output('stored', SOON)], Date.parse(SOON)],
  ['a stored file without an address, now', [output('stored', null, null)], 0],
  [
    'a provider’s own address, never: asking brings the same',
    [output('remote', SOON)],
    Number.POSITIVE_INFINITY,
  ],
  ['an address that does not expire, never', [output('stored', null)], Number.POSITIVE_INFINITY],
  ['a file that is gone, never', [output('deleted', null, null)], Number.POSITIVE_INFINITY],
])('the end of %s', (_, outputs, end) => {
  expect(addressesEnd({ result: { outputs } })).toBe(end)
})
