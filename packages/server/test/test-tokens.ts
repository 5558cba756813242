import { type JWTPayload, SignJWT } from 'jose'

export const TEST_SECRET = 'a-secret-of-at-least-thirty-two-characters'
export const TEST_ISSUER = 'https://issuer.example'
export const TEST_AUDIENCE = 'authenticated'
export const testAuth = { secret: TEST_SECRET, issuer: TEST_ISSUER, audience: TEST_AUDIENCE }

/** A token that `testAuth` takes, unless `changes` spoil it. */
export function signToken(
  userId: string,
  changes: JWTPayload = {},
  secret: string = TEST_SECRET,
): Promise<string> {
  const now = Math.floor(Date.now() / 1000)
  return new SignJWT({
    sub: userId,
    iss: TEST_ISSUER,
    aud: TEST_AUDIENCE,
    iat: now,
    exp: now + 3600,
    ...changes,
  })
    .setProtectedHeader({ alg: 'HS256' })
    .sign(new TextEncoder().encode(secret))
}
