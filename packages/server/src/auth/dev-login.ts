import { createHash } from 'node:crypto'
import { SignJWT } from 'jose'
import type { Authenticate } from './authenticate.ts'
import { createJwtAuthenticate } from './jwt-authenticate.ts'

const ISSUER = 'holdfast-dev'
const LIFETIME = '12h'

export interface DevLogin {
  authenticate: Authenticate
  /** A token for whoever claims to be called `name`; `admin` is one. */
  login(name: string, lifetime?: string): Promise<{ token: string; userId: string }>
}

/**
 * Signing in by name alone. Exists only in `holdfast dev`: with the embedded database, on loopback, never with
 * NODE_ENV=production.
 */
export function createDevLogin(secret: string): DevLogin {
  return {
    authenticate: createJwtAuthenticate({ secret, issuer: ISSUER, audience: 'authenticated' }),
    async login(name, lifetime = LIFETIME) {
      const userId = userIdOf(name)
      const token = await new SignJWT({
        role: 'authenticated',
        ...(name.trim().toLowerCase() === 'admin' ? { app_metadata: { role: 'admin' } } : {}),
      })
        .setProtectedHeader({ alg: 'HS256' })
        .setIssuer(ISSUER)
        .setAudience('authenticated')
        .setSubject(userId)
        .setIssuedAt()
        .setExpirationTime(lifetime)
        .sign(new TextEncoder().encode(secret))
      return { token, userId }
    },
  }
}

/** The same name is the same user, on every device and after every restart. A UUID (version 8), as Supabase's are. */
function userIdOf(name: string): string {
  const hex = createHash('sha256').update(`holdfast-dev:${name.trim().toLowerCase()}`).digest('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}
