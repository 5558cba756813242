import type { Task } from '@holdfast/shared'

/**
 * When the first of a task's file addresses stops working that asking again would replace, in milliseconds by the
 * server's clock. Only those of our own store are signed anew: a provider's stays what it is until the file is copied,
 * and then the task has a new version. A stored file without an address (the store could not be reached) has ended
 * already.
 */
export function addressesEnd({ result }: Pick<Task, 'result'>): number {
  const stored = result?.outputs.filter(({ state }) => state === 'stored') ?? []
  return Math.min(
    ...stored.map(({ url, urlExpiresAt }) =>
      urlExpiresAt ? Date.parse(urlExpiresAt) : url ? Number.POSITIVE_INFINITY : 0,
    ),
  )
}
