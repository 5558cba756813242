import type { Http } from './http.ts'

/** Everything of a list that comes in pages. */
export async function allPages<T>(
  request: Http['json'],
  path: string,
  name: string,
  query: Record<string, string> = {},
): Promise<T[]> {
  const all: T[] = []
  let cursor: string | null = null
  do {
    const search = new URLSearchParams({ ...query, limit: '200', ...(cursor && { cursor }) })
    const page: Record<string, T[]> & { nextCursor: string | null } = await request(
      'GET',
      `${path}?${search}`,
    )
    all.push(...(page[name] ?? []))
    cursor = page.nextCursor
  } while (cursor)
  return all
}
