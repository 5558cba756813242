import { devLoginBody } from '@holdfast/shared/schemas'
import type { Context, Hono } from 'hono'
import type { DevLogin } from '../auth/dev-login.ts'
import { HoldfastError } from '../errors.ts'
import type { AppEnv } from './app-context.ts'
import { isFromLoopback, isProxied } from './loopback.ts'
import { readBody } from './read-input.ts'

/** Adds `POST /dev/login`. Only for `holdfast dev`. */
export function addDevLogin(app: Hono<AppEnv>, devLogin: DevLogin): void {
  app.post('/dev/login', async (c) => {
    // The name in the URL counts too: a page elsewhere could point a name of its own at 127.0.0.1.
    if (!isFromLoopback(c) || !isLocalName(new URL(c.req.url).hostname)) throw new HoldfastError('NOT_FOUND')
    if (isProxied(c) || !isLocalPage(c)) {
      throw new HoldfastError(
        'FORBIDDEN',
        'The development login is for this machine only, and this request came through a proxy or from a page elsewhere. Use "holdfast serve" with tokens of your own.',
      )
    }
    const { user } = await readBody(c, devLoginBody)
    return c.json(await devLogin.login(user))
  })
}

/** The page that asks, if one does: a proxy that adds nothing still passes on where the browser got it from. */
function isLocalPage(c: Context<AppEnv>): boolean {
  const pages = [c.req.header('origin'), c.req.header('referer')]
  return pages.every((page) => page === undefined || isLocalName(URL.parse(page)?.hostname ?? ''))
}

function isLocalName(hostname: string): boolean {
  // The whole address: 127.0.0.1.evil.example is somebody's name.
  return hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d{1,3}){3}$/.test(hostname)
}
