import fc from 'fast-check'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { addressIn } from './address-in.ts'

afterEach(() => vi.unstubAllGlobals())

const HOST = 'https://api.example'
const BELOW = 'https://api.example/holdfast'

describe('addressIn', () => {
  it.each([
    [HOST, '/v1/tasks', 'https://api.example/v1/tasks'],
    [`${HOST}/`, '/v1/tasks', 'https://api.example/v1/tasks'],
    [HOST, '/v1/tasks?cursor=%2F%2Fevil.example', 'https://api.example/v1/tasks?cursor=%2F%2Fevil.example'],
    [HOST, '/v1//evil.example', 'https://api.example/v1//evil.example'],
    [HOST, 'https://api.example/v1/tasks', 'https://api.example/v1/tasks'],
    [HOST, 'HTTPS://API.example:443/v1/tasks', 'https://api.example/v1/tasks'],
    [BELOW, '/v1/tasks', 'https://api.example/holdfast/v1/tasks'],
    [`${BELOW}/`, '/v1/tasks', 'https://api.example/holdfast/v1/tasks'],
    [BELOW, '?status=running', 'https://api.example/holdfast?status=running'],
    [BELOW, '', 'https://api.example/holdfast'],
    [BELOW, 'https://api.example/holdfast/v1', 'https://api.example/holdfast/v1'],
    [BELOW, '/v1/../v2', 'https://api.example/holdfast/v2'],
    ['http://127.0.0.1:8787', '/v1/sync', 'http://127.0.0.1:8787/v1/sync'],
  ])('from %s, %s is %s', (base, path, address) => {
    expect(addressIn(base, path)).toBe(address)
  })

  it.each([
    ...[HOST, BELOW].flatMap((base) =>
      [
        'https://evil.example/v1',
        'http://api.example/v1',
        'https://api.example:8443/v1',
        'https://api.example.evil.example/v1',
        'https://api.example@evil.example/v1',
        'https://me:secret@api.example/holdfast/v1',
        'https:evil.example/v1',
        'https:\\\\evil.example/v1',
        ' https://evil.example/v1',
        'ht\ntps://evil.example/v1',
        '//evil.example/v1',
        '/\\evil.example/v1',
        '\\\\evil.example/v1',
        '/\t/evil.example/v1',
        '/../../evil.example//../..//evil.example',
        '@evil.example/v1',
        ':secret@evil.example/v1',
        '.evil.example/v1',
        'v1/tasks',
        'data:text/plain,v1',
        'blob:https://api.example/holdfast/v1',
        'javascript:alert(1)',
        'file:///etc/passwd',
        'https://',
      ].map((path) => [base, path]),
    ),
    [BELOW, '/../v1/admin'],
    [BELOW, '/%2e%2e/v1/admin'],
    [BELOW, 'https://api.example/v1/tasks'],
    [BELOW, 'https://api.example/holdfast-of-others/v1'],
    [BELOW, '-of-others/v1'],
    ['https://', '/v1/tasks'],
  ])('from %s, %j is refused', (base, path) => {
    expect(() => addressIn(base, path)).toThrow(
      expect.objectContaining({
        code: 'INVALID_REQUEST',
        message: expect.stringContaining('Nothing was sent.'),
      }),
    )
  })

  describe('without a url', () => {
    it.each([
      ['', '/v1/tasks', 'https://page.example/v1/tasks'],
      ['/api', '/v1/tasks', 'https://page.example/api/v1/tasks'],
      ['', 'https://page.example/v1/tasks', 'https://page.example/v1/tasks'],
      ['//other.example', '/v1/tasks', 'https://other.example/v1/tasks'],
    ])('%j is the page’s origin: %s is %s', (base, path, address) => {
      vi.stubGlobal('origin', 'https://page.example')
      expect(addressIn(base, path)).toBe(address)
    })

    it.each(['//evil.example', '/\\evil.example', 'https://evil.example', 'https:evil.example'])(
      '%j is refused',
      (path) => {
        vi.stubGlobal('origin', 'https://page.example')
        expect(() => addressIn('', path)).toThrow('not below the page’s origin')
      },
    )

    it('a page without an origin needs one, and one with a url does not', () => {
      for (const origin of ['null', undefined]) {
        vi.stubGlobal('origin', origin)
        expect(() => addressIn('', '/v1/tasks')).toThrow('not below the page’s origin')
        expect(addressIn(HOST, '/v1/tasks')).toBe('https://api.example/v1/tasks')
      }
    })
  })

  it('whatever the path, a call stays at the host and below the path that the app has named', () => {
    const part = fc.constantFrom(
      ...[
        '/',
        '\\',
        '@',
        ':',
        '.',
        '..',
        '%2e',
        '?',
        '#',
        '\t',
        '\n',
        ' ',
        'https:',
        'evil.example',
        'api.example',
      ],
      'holdfast',
    )
    const paths = fc.oneof(
      fc.array(part, { maxLength: 8 }).map((parts) => parts.join('')),
      fc.string(),
    )
    fc.assert(
      fc.property(fc.constantFrom(HOST, BELOW), paths, (base, path) => {
        let address: URL
        try {
          address = new URL(addressIn(base, path))
        } catch {
          return
        }
        expect(address.origin).toBe(HOST)
        expect(address.username + address.password).toBe('')
        expect(`${address.pathname}/`.startsWith(`${new URL(base).pathname.replace(/\/$/, '')}/`)).toBe(true)
      }),
      { numRuns: 5_000 },
    )
  })
})
