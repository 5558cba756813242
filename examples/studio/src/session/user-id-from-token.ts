/**
 * The `sub` of a JSON Web Token, unchecked: here it only names the local copy. Whether the token is good is for
 * the server to say.
 */
export function userIdFromToken(token: string): string | null {
  const payload = token.split('.')[1]
  if (!payload) return null
  try {
    const bytes = Uint8Array.from(atob(payload.replace(/-/g, '+').replace(/_/g, '/')), (c) => c.charCodeAt(0))
    const claims: unknown = JSON.parse(new TextDecoder().decode(bytes))
    if (typeof claims !== 'object' || claims === null || !('sub' in claims)) return null
    return typeof claims.sub === 'string' && claims.sub ? claims.sub : null
  } catch {
    // Not base64 or not JSON: not a token, which is what null says.
    return null
  }
}
