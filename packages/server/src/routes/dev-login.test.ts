import { request } from 'node:http'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { freePort } from '../../test/free-port.ts'
import { startTestNginx } from '../../test/nginx-for-tests.ts'
import { startTestHoldfast, type TestHoldfast } from '../../test/test-holdfast.ts'
import { createDevLogin } from '../auth/dev-login.ts'
import { addDevLogin } from './dev-login.ts'

const devLogin = createDevLogin('a-secret-for-development-of-32-characters')
let server: TestHoldfast
let port: number
beforeAll(async () => {
  server = await startTestHoldfast({ auth: devLogin.authenticate })
  addDevLogin(server.holdfast.app, devLogin)
  port = Number(new URL(await server.listen()).port)
})
afterAll(() => server.stop())

/** With `node:http`, because `fetch` does not let a caller lie about its Host. */
function login(host: string, body = '{"user": "Ada"}', headers: Record<string, string> = {}, at = port) {
  return new Promise<{ status: number; body: unknown }>((resolve, reject) => {
    const call = request(
      {
        host: '127.0.0.1',
        port: at,
        path: '/dev/login',
        method: 'POST',
        headers: { host, 'content-type': 'application/json', ...headers },
      },
      (response) => {
        let text = ''
        response.on('data', (chunk) => {
          text += chunk
        })
        response.on('end', () =>
          resolve({
            status: response.statusCode ?? 0,
            body: text.startsWith('{') ? JSON.parse(text) : text,
          }),
        )
      },
    )
    call.on('error', reject)
    call.end(body)
  })
}

describe('POST /dev/login', () => {
  it.each(['localhost', '127.0.0.1', 'localhost:8787', '[::1]:8787'])('gives a token at %s', async (host) => {
    const { status, body } = await login(host)
    expect(status).toBe(200)
    const { token, userId } = body as { token: string; userId: string }
    expect(await devLogin.authenticate(token)).toMatchObject({ userId })
    const own = await server.call('GET', '/v1/tasks', { headers: { authorization: `Bearer ${token}` } })
    expect(own.status).toBe(200)
  })

  it.each([
    'evil.example',
    'localhost.evil.example',
    '127.evil.example',
    '127.0.0.1.evil.example',
    '10.0.0.5',
    '0.0.0.0',
    'evil-localhost',
    '[::2]',
  ])('is not there at %s, even if that name leads here', async (host) => {
    expect(await login(host)).toMatchObject({ status: 404, body: { code: 'NOT_FOUND' } })
  })

  it.each<Record<string, string>>([
    { 'x-forwarded-for': '203.0.113.7' },
    { 'x-forwarded-host': 'demo.example' },
    { 'x-forwarded-proto': 'https' },
    { forwarded: 'for=203.0.113.7' },
    { via: '1.1 caddy' },
    { 'x-real-ip': '203.0.113.7' },
    { 'cf-connecting-ip': '203.0.113.7' },
    { origin: 'https://demo.example' },
    { origin: 'null' },
    { referer: 'https://demo.example/' },
  ])('refuses what came through a proxy, or from a page elsewhere, and says so: %j', async (headers) => {
    const answer = await login('127.0.0.1:8787', undefined, headers)
    expect(answer).toMatchObject({ status: 403, body: { code: 'FORBIDDEN' } })
    expect((answer.body as { detail: string }).detail).toContain('proxy')
  })

  it('takes a page of this machine, whatever its port', async () => {
    expect(await login('localhost:8787', undefined, { origin: 'http://localhost:5173' })).toMatchObject({
      status: 200,
    })
  })

  it('refuses an nginx on this machine that adds nothing at all', async () => {
    const nginxPort = await freePort()
    const nginx = await startTestNginx({
      port: nginxPort,
      http: `server { listen 127.0.0.1:${nginxPort}; location / { proxy_pass http://127.0.0.1:${port}; } }`,
    })
    try {
      expect(await login('demo.example', '{"user": "admin"}', {}, nginxPort)).toMatchObject({ status: 403 })
    } finally {
      await nginx.stop()
    }
  })

  it('refuses what a page could send without asking', async () => {
    expect(await login('localhost', '{"user": "ada"}', { 'content-type': 'text/plain' })).toMatchObject({
      status: 415,
    })
    expect(await login('localhost', '{"user": ""}')).toMatchObject({
      status: 400,
      body: { code: 'INVALID_REQUEST' },
    })
    expect(await login('localhost', '{')).toMatchObject({ status: 400, body: { code: 'INVALID_JSON' } })
  })

  it('is absent unless it was added', async () => {
    const plain = await startTestHoldfast()
    try {
      const answer = await plain.call('POST', '/dev/login', { json: { user: 'ada' } })
      expect(answer).toMatchObject({ status: 404, body: { code: 'NOT_FOUND' } })
    } finally {
      await plain.stop()
    }
  })
})
