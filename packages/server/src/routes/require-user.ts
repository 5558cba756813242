import { PROBLEMS } from '@holdfast/shared'
import { actingForUser } from '@holdfast/shared/schemas'
import type { Context } from 'hono'
import { createMiddleware } from 'hono/factory'
import type { Identity } from '../auth/authenticate.ts'
import { HoldfastError } from '../errors.ts'
import type { AppContext, AppEnv } from './app-context.ts'

/** Marks what a service key opens. By the router and not by the address: the API may be mounted under any path. */
export const openToServices = createMiddleware<AppEnv>(async (c, next) => {
  c.set('isOpenToServices', true)
  await next()
})

/**
 * Nobody passes without a good token (S2), or a service key. Both are read from the header only, so they never stand in
 * a URL.
 */
export function requireUser({
  authenticate,
  isServiceKey,
  requests,
  answers,
}: Pick<AppContext, 'authenticate' | 'isServiceKey' | 'requests' | 'answers'>) {
  async function identify(c: Context<AppEnv>, token: string): Promise<Identity> {
    try {
      return await authenticate(token)
    } catch (error) {
      const code = error instanceof HoldfastError ? error.code : null
      if (code === 'TOKEN_EXPIRED') requests.expired(token)
      else if (code !== null && PROBLEMS[code].status < 500) requests.stranger(c)
      throw error
    }
  }

  return createMiddleware<AppEnv>(async (c, next) => {
    const header = c.req.header('authorization')
    const token = /^bearer +(\S+) *$/i.exec(header ?? '')?.[1]
    if (!token) {
      requests.stranger(c)
      throw new HoldfastError('UNAUTHENTICATED', 'Send a token: "Authorization: Bearer <token>".')
    }
    if (isServiceKey(token)) {
      c.set('isService', true)
      return next()
    }
    const identity = await identify(c, token)
    requests.user(identity.userId)
    answers.enter(c, identity.userId)
    c.set('identity', identity)
    c.set('weigh', (by) => {
      if (by > 0) requests.user(identity.userId, by)
    })
    await next()
  })
}

/** Whom an app's backend acts for. Comes after the limit for bodies, since that is where the user may be named. */
export const actForUser = createMiddleware<AppEnv>(async (c, next) => {
  if (c.get('isService')) c.set('identity', await identifyService(c))
  await next()
})

/** The user that the app's backend acts for: `userId` in the body, or in the query of requests without one. */
async function identifyService(c: Context<AppEnv>): Promise<Identity> {
  // Only browsers send these (`sec-fetch-mode` also comes from Node). A key in a page is in everybody's hands.
  if (c.req.header('origin') !== undefined || c.req.header('sec-fetch-site') !== undefined) {
    throw new HoldfastError(
      'FORBIDDEN',
      'A service key must not be used in a browser. If it has been in a page, replace it now.',
    )
  }
  if (!c.get('isOpenToServices')) {
    throw new HoldfastError('FORBIDDEN', 'A service key is for /v1/tasks only.')
  }
  const given = new Set([...(c.req.queries('userId') ?? []), await userIdInBody(c)])
  given.delete(undefined)
  if (given.size > 1) throw new HoldfastError('INVALID_REQUEST', 'userId: name one user, not several.')
  const named = actingForUser.safeParse([...given][0])
  if (!named.success) {
    throw new HoldfastError('INVALID_REQUEST', 'userId: with a service key, say for which user.')
  }
  return { userId: named.data, expiresAt: null, isService: true }
}

async function userIdInBody(c: Context<AppEnv>): Promise<unknown> {
  try {
    // Hono keeps the text, so that it can be read again.
    const body: unknown = JSON.parse(await c.req.text())
    return typeof body === 'object' && body !== null && 'userId' in body ? body.userId : undefined
  } catch {
    return undefined
  }
}
