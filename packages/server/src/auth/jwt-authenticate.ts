import {
  createRemoteJWKSet,
  decodeProtectedHeader,
  errors,
  type JWTPayload,
  type JWTVerifyOptions,
  jwtVerify,
} from 'jose'
import { HoldfastError } from '../errors.ts'
import type { Authenticate } from './authenticate.ts'

export interface JwtAuthOptions {
  /** Shared secret for HS256 tokens, 32 bytes or more (Supabase: Settings → API → JWT secret). */
  secret?: string
  /** Where the issuer publishes its public keys (Supabase: `<project url>/auth/v1/.well-known/jwks.json`). */
  jwksUrl?: string
  /** What `iss` must be. Needed with `jwksUrl`. */
  issuer?: string
  /** What `aud` must contain. Needed with `jwksUrl`; false where the issuer's tokens name none. */
  audience?: string | false
}

/** Public-key algorithms only: with HS256 among them an attacker could sign with the public key as the secret. */
const ASYMMETRIC = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
]
const CLOCK_TOLERANCE_SECONDS = 5
const MAX_TOKEN_LENGTH = 16_384
/** As long as the hash: RFC 7518, 3.2. A shorter one can be guessed from a single token. */
const SHORTEST_SECRET_BYTES = 32

const OPTION_NAMES = { secret: 'auth.secret', issuer: 'auth.issuer', audience: 'auth.audience' }

/**
 * Refuses settings by which tokens of others would be good here. An issuer's keys alone prove only that it made the
 * token: for any app of its, maybe for any of its customers.
 *
 * @param names what the person who reads the error has to set
 */
export function checkJwtAuth(options: JwtAuthOptions, names: typeof OPTION_NAMES = OPTION_NAMES): void {
  if (options.secret && Buffer.byteLength(options.secret) < SHORTEST_SECRET_BYTES) {
    throw new Error(
      `${names.secret} is too short: it must have at least ${SHORTEST_SECRET_BYTES} bytes. Make one with: openssl rand -base64 32`,
    )
  }
  if (!options.jwksUrl) return
  const missing = [
    options.issuer ? null : names.issuer,
    options.audience || options.audience === false ? null : names.audience,
  ].filter((name) => name !== null)
  if (missing.length > 0) {
    throw new Error(
      `With the keys of an issuer, set ${missing.join(' and ')} too: otherwise tokens that it made for other apps would be good here.`,
    )
  }
}

/** Checks JWTs by a shared secret, by an issuer's published keys, or by either, as the token's `alg` says. */
export function createJwtAuthenticate(options: JwtAuthOptions): Authenticate {
  if (!options.secret && !options.jwksUrl) {
    throw new Error('Tokens cannot be checked: give auth.secret (HS256) or auth.jwksUrl (public keys).')
  }
  checkJwtAuth(options)
  const secret = options.secret ? new TextEncoder().encode(options.secret) : undefined
  const jwks = options.jwksUrl
    ? createRemoteJWKSet(new URL(options.jwksUrl), { timeoutDuration: 5_000 })
    : undefined
  const claims: JWTVerifyOptions = {
    requiredClaims: ['sub', 'exp'],
    clockTolerance: CLOCK_TOLERANCE_SECONDS,
    ...(options.issuer ? { issuer: options.issuer } : {}),
    ...(options.audience ? { audience: options.audience } : {}),
  }

  async function verify(token: string): Promise<JWTPayload> {
    const { alg } = decodeProtectedHeader(token)
    if (alg === 'HS256' && secret)
      return (await jwtVerify(token, secret, { ...claims, algorithms: ['HS256'] })).payload
    if (alg !== 'HS256' && jwks)
      return (await jwtVerify(token, jwks, { ...claims, algorithms: ASYMMETRIC })).payload
    throw new HoldfastError('TOKEN_INVALID', 'The token is signed in a way that this server does not accept.')
  }

  return async (token) => {
    if (token.length > MAX_TOKEN_LENGTH) throw new HoldfastError('TOKEN_INVALID', 'The token is too long.')
    try {
      const payload = await verify(token)
      return {
        userId: readSubject(payload),
        expiresAt: payload.exp === undefined ? null : new Date(payload.exp * 1000),
        admin: readMetadata(payload, 'role') === 'admin',
        plan: readMetadata(payload, 'plan'),
      }
    } catch (error) {
      throw toHoldfastError(error)
    }
  }
}

function readSubject({ sub }: JWTPayload): string {
  if (
    typeof sub !== 'string' ||
    sub === '' ||
    sub.length > 200 ||
    sub.includes('\u0000') ||
    !sub.isWellFormed()
  ) {
    throw new HoldfastError('TOKEN_INVALID', 'The token does not name a user (claim "sub").')
  }
  return sub
}

/** Only the issuer writes `app_metadata` (as in Supabase), so users cannot give themselves a role or a plan. */
function readMetadata({ app_metadata: metadata }: JWTPayload, name: 'role' | 'plan'): string | null {
  const value = typeof metadata === 'object' && metadata !== null ? Reflect.get(metadata, name) : null
  return typeof value === 'string' ? value : null
}

function toHoldfastError(error: unknown): HoldfastError {
  if (error instanceof HoldfastError) return error
  if (error instanceof errors.JWTExpired) {
    return new HoldfastError('TOKEN_EXPIRED', 'The token has expired. Sign in again or refresh it.', {
      cause: error,
    })
  }
  // The issuer is away or does not answer with keys; that says nothing about the token.
  const issuerAway =
    error instanceof errors.JWKSTimeout ||
    error instanceof errors.JWKSInvalid ||
    (error instanceof errors.JOSEError && error.code === 'ERR_JOSE_GENERIC') ||
    (error instanceof TypeError && error.message.includes('fetch'))
  if (issuerAway) {
    return new HoldfastError('UNAVAILABLE', 'Tokens cannot be checked right now. Try again shortly.', {
      cause: error,
      retryAfterSeconds: 5,
    })
  }
  return new HoldfastError('TOKEN_INVALID', 'The token is not valid.', { cause: error })
}
