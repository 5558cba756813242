/** Why signing in did not work: `no-dev-login` means that this server wants real tokens. */
export class SignInError extends Error {
  readonly code: 'no-dev-login' | 'unreachable' | 'refused'

  constructor(code: SignInError['code'], message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'SignInError'
    this.code = code
  }
}

/** Signs in by name alone, which a server in development allows. */
export async function devLogin(user: string): Promise<{ token: string; userId: string }> {
  const response = await fetch('/dev/login', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ user }),
  }).catch((cause: unknown) => {
    throw new SignInError(
      'unreachable',
      'The server does not answer. Check that it is running, then try again.',
      {
        cause,
      },
    )
  })
  if (response.status === 404) {
    throw new SignInError(
      'no-dev-login',
      'This server does not sign people in by name (that is for development only). Paste an access token instead.',
    )
  }
  const body: unknown = await response.json().catch(() => null)
  if (!response.ok || !isLogin(body)) throw new SignInError('refused', refusalText(response.status, body))
  return body
}

function isLogin(body: unknown): body is { token: string; userId: string } {
  return typeof body === 'object' && body !== null && 'token' in body && 'userId' in body
}

function refusalText(status: number, body: unknown): string {
  if (typeof body === 'object' && body !== null && 'detail' in body && typeof body.detail === 'string') {
    return body.detail
  }
  return `The server could not sign you in (status ${status}). Try again in a moment.`
}
