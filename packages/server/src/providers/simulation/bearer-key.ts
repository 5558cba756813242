import type { IncomingHttpHeaders } from 'node:http'

/** The key in `Authorization: Bearer …`; null where there is none. */
export function bearerKeyOf({ authorization = '' }: IncomingHttpHeaders): string | null {
  return /^Bearer (\S+)$/.exec(authorization)?.[1] ?? null
}
