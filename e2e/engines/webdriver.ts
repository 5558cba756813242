/** The little of W3C WebDriver that is needed, over plain HTTP. */
export interface WebDriverSession {
  browserVersion: string
  command(method: 'GET' | 'POST' | 'DELETE', path: string, body?: Record<string, unknown>): Promise<unknown>
}

/** What the driver answers when it cannot: `code` is one of the standard's, `no such element` for example. */
export class WebDriverError extends Error {
  readonly code: string

  constructor(code: string, message: string) {
    super(`${code}: ${message}`)
    this.name = 'WebDriverError'
    this.code = code
  }
}

/** The standard's name for the field that holds an element's id. */
const ELEMENT = 'element-6066-11e4-a52e-4f735466cecf'

export function elementId(value: unknown): string {
  return (value as Record<typeof ELEMENT, string>)[ELEMENT]
}

export async function startSession(driverUrl: string): Promise<WebDriverSession> {
  const { sessionId, capabilities } = (await call('POST', `${driverUrl}/session`, {
    capabilities: { alwaysMatch: {} },
  })) as { sessionId: string; capabilities: { browserVersion: string } }
  return {
    browserVersion: capabilities.browserVersion,
    command: (method, path, body) => call(method, `${driverUrl}/session/${sessionId}${path}`, body),
  }
}

async function call(method: string, url: string, body: Record<string, unknown> = {}): Promise<unknown> {
  const response = await fetch(url, {
    method,
    ...(method === 'POST' && { body: JSON.stringify(body) }),
    headers: { 'content-type': 'application/json' },
  })
  const { value } = (await response.json()) as { value: unknown }
  if (response.ok) return value
  const { error, message } = value as { error: string; message: string }
  throw new WebDriverError(error, `${message} (${method} ${new URL(url).pathname})`)
}
