import { createHttpApi } from '../src/providers/http-api/http-api.ts'
import type { HttpApiOptions } from '../src/providers/http-api/http-api-options.ts'
import type { Provider } from '../src/providers/provider.ts'
import { type SmallReply, type SmallRequest, startSmallServer } from './small-server.ts'

export const TEST_KEY = 'secret-key-0123456789'

/** A small vendor's API: `{ id }` to a create, `{ progress }` or `{ urls }` to a query. */
export const smallMapping: Omit<HttpApiOptions, 'name' | 'baseUrl'> = {
  create: ({ params }) => ({ path: '/jobs', json: params }),
  readCreate: ({ json }) => ({ kind: 'accepted', externalId: (json as { id: string }).id }),
  query: (id) => ({ path: `/jobs/${encodeURIComponent(id)}` }),
  readQuery: ({ json }) => {
    const { urls, progress } = json as { urls?: string[]; progress?: number }
    return urls ? { kind: 'succeeded', outputs: urls.map((url) => ({ url })) } : { kind: 'running', progress }
  },
  cancel: (id) => ({ method: 'DELETE', path: `/jobs/${encodeURIComponent(id)}` }),
  refresh: ({ externalId }) => ({ path: `/jobs/${externalId}`, query: { fresh: true, none: null } }),
}

/** A provider of that API, whose every call is answered as the test wants. */
export async function startHttpApi(
  answer: SmallReply | null | ((request: SmallRequest, nth: number) => SmallReply | null),
  options: Partial<HttpApiOptions> = {},
): Promise<{ api: Provider; requests: SmallRequest[]; server: { url: string; close(): Promise<void> } }> {
  const server = await startSmallServer(typeof answer === 'function' ? answer : () => answer)
  const api = createHttpApi({
    name: 'acme',
    baseUrl: `${server.url}/v1/`,
    apiKey: TEST_KEY,
    ...smallMapping,
    ...options,
  })
  return { api, requests: server.requests, server }
}
