import fc from 'fast-check'
import { expect, test } from 'vitest'
import { anyNotation, forbiddenIPv4, publicIPv4, toDotted } from '../../../test/any-address.ts'
import { checkUrl } from './check-url.ts'
import { SourceError } from './source-error.ts'

function codeOf(url: string, rules = {}): string {
  try {
    return checkUrl(url, rules).reach
  } catch (error) {
    if (error instanceof SourceError) return error.code
    throw error
  }
}

test('S3 a forbidden IPv4 is refused in whatever notation', () => {
  const forbidden = forbiddenIPv4.chain((address) => anyNotation(address))
  fc.assert(
    fc.property(forbidden, fc.constantFrom('https', 'http'), (host, scheme) => {
      expect(codeOf(`${scheme}://${host}/x`, { allowHttp: true })).toBe('FORBIDDEN_ADDRESS')
    }),
    { numRuns: 2_000 },
  )
})

test('S3 a public IPv4 is accepted in whatever notation, and read as what it is', () => {
  const written = publicIPv4.chain((address) =>
    fc.tuple(fc.constant(toDotted(address)), anyNotation(address)),
  )
  fc.assert(
    fc.property(written, ([dotted, host]) => {
      expect(checkUrl(`https://${host}/x`, {}).url.hostname).toBe(dotted)
    }),
    { numRuns: 1_000 },
  )
})

test('S3 http takes leave, and by that of loopback it does not get out', () => {
  expect(codeOf('http://cdn.example/x')).toBe('SCHEME')
  expect(codeOf('http://cdn.example/x', { allowHttp: true })).toBe('public')
  expect(codeOf('http://cdn.example/x', { allowLoopback: true })).toBe('SCHEME')
  expect(codeOf('http://8.8.8.8/x', { allowLoopback: true })).toBe('SCHEME')
  expect(codeOf('http://10.0.0.1/x', { allowLoopback: true })).toBe('SCHEME')
  expect(codeOf('http://localhost.evil.example/x', { allowLoopback: true })).toBe('SCHEME')
  for (const host of [
    'localhost',
    'localhost.',
    'a.localhost',
    '127.0.0.1',
    '127.1',
    '[::1]',
    '[::ffff:127.0.0.1]',
  ]) {
    expect(codeOf(`http://${host}:8080/x`, { allowLoopback: true })).toBe('loopback')
    expect(codeOf(`https://${host}:8080/x`, { allowLoopback: true })).toBe('both')
    expect(codeOf(`http://${host}:8080/x`)).toBe('SCHEME')
  }
})

test('S3 what is sent nowhere is not part of the URL', () => {
  expect(checkUrl('https://cdn.example/a?b=1#secret', {}).url.href).toBe('https://cdn.example/a?b=1')
})

test('S3 a refusal quotes nothing of the URL', () => {
  for (const url of [
    'ftp://a/SECRET',
    'https://SECRET@a/SECRET',
    'https://10.0.0.1/?SECRET',
    'https:// /SECRET',
  ]) {
    expect(() => checkUrl(url, {})).toThrow(SourceError)
    try {
      checkUrl(url, {})
    } catch (error) {
      expect(String(error)).not.toContain('SECRET')
      expect(JSON.stringify(error)).not.toContain('SECRET')
    }
  }
})
