import type { Credits } from '@holdfast/shared'
import type { Http } from './http.ts'

/** What the user can spend, and what was spent lately. */
export function readCredits({ request }: { request: Http['json'] }): Promise<Credits> {
  return request<Credits>('GET', '/v1/credits')
}
