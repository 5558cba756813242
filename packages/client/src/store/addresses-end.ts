import type { Task } from '@holdfast/shared'

/**
 * When the first of a task's file addresses stops working, in milliseconds by the server's clock. A file that is
 * stored but has no address (the store could not be reached) has ended already: asking again may bring one.
 */
export function addressesEnd({ result }: Pick<Task, 'result'>): number {
  return Math.min(
    ...(result?.outputs ?? []).map(({ url, state, urlExpiresAt }) =>
      urlExpiresAt ? Date.parse(urlExpiresAt) : url || state !== 'stored' ? Number.POSITIVE_INFINITY : 0,
    ),
  )
}
