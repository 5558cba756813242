/** What hosts append for other drivers. Ours would send it to PostgreSQL as a setting, which refuses the connection. */
const FOR_OTHERS = ['pgbouncer', 'channel_binding', 'connection_limit', 'pool_timeout', 'supa']

/** The URL as the driver takes it. */
export function driverUrl(url: string): string {
  if (!URL.canParse(url)) return url
  const parsed = new URL(url)
  const given = FOR_OTHERS.filter((name) => parsed.searchParams.has(name))
  if (given.length === 0) return url
  for (const name of given) parsed.searchParams.delete(name)
  return parsed.href
}

/** Whether the URL itself says that it leads to a pooler in transaction mode: Supabase's port, Neon's host, Prisma's word. */
export function looksPooled(url: string): boolean {
  if (!URL.canParse(url)) return false
  const { port, hostname, searchParams } = new URL(url)
  return port === '6543' || searchParams.get('pgbouncer') === 'true' || /^[^.]+-pooler\./.test(hostname)
}

/** Host and port, for messages: the rest of a URL is secret. */
export function hostOf(url: string): string {
  return URL.canParse(url)
    ? `${new URL(url).hostname}:${new URL(url).port || 5432}`
    : 'the address that was given'
}
