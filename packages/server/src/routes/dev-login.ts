import { devLoginBody } from '@holdfast/shared/schemas'
import type { Hono } from 'hono'
import type { DevLogin } from '../auth/dev-login.ts'
import { HoldfastError } from '../errors.ts'
import type { AppEnv } from './app-context.ts'
import { isFromLoopback } from './loopback.ts'
import { readBody } from './read-input.ts'

/** Adds `POST /dev/login`. Only for `holdfast dev`. */
export function addDevLogin(app: Hono<AppEnv>, devLogin: DevLogin): void {
  app.post('/dev/login', async (c) => {
    // The name in the URL counts too: a page elsewhere could point a name of its own at 127.0.0.1.
    if (!isFromLoopback(c) || !isLocalName(new URL(c.req.url).hostname)) throw new HoldfastError('NOT_FOUND')
    const { user } = await readBody(c, devLoginBody)
    return c.json(await devLogin.login(user))
  })
}

function isLocalName(hostname: string): boolean {
  // The whole address: 127.0.0.1.evil.example is somebody's name.
  return hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d{1,3}){3}$/.test(hostname)
}
