import { isIP } from 'node:net'
import { admits, type Reach } from './address-rules.ts'
import { SourceError } from './source-error.ts'

export interface UrlRules {
  allowLoopback?: boolean
  allowHttp?: boolean
}

/** A URL that may be asked, and the addresses that its host may turn out to have. */
export interface Target {
  url: URL
  reach: Reach
}

/**
 * What can be said of a URL before its host is looked up. The parser is the WHATWG one, which reads 0x7f.1, 017700000001
 * and their like as the addresses they are, so the host here is either an address in its plain form or a name.
 *
 * Any port but 0 is let through: vendors serve from odd ones, and nothing behind a public address becomes reachable
 * by it that was not before.
 */
export function checkUrl(input: string, rules: UrlRules, base?: URL): Target {
  const url = URL.parse(input, base?.href)
  if (!url) throw new SourceError('BAD_URL', 'The source is not a URL.')
  if (url.protocol !== 'https:' && url.protocol !== 'http:') {
    throw new SourceError('SCHEME', 'The source is neither https nor http.')
  }
  if (url.username !== '' || url.password !== '') {
    throw new SourceError('BAD_URL', 'The source carries a user name or password in its URL.')
  }
  if (url.hostname === '' || url.port === '0') {
    throw new SourceError('BAD_URL', 'The source names no host or port to connect to.')
  }
  url.hash = ''
  const host = hostOf(url)
  const reach = reachOf(url, host, rules)
  if (isIP(host) !== 0 && !admits(reach, host)) throw forbiddenAddress()
  return { url, reach }
}

/** The host without the brackets that a URL puts around IPv6. */
export function hostOf(url: URL): string {
  return url.hostname.startsWith('[') ? url.hostname.slice(1, -1) : url.hostname
}

export function forbiddenAddress(): SourceError {
  return new SourceError('FORBIDDEN_ADDRESS', 'The source is at an address that is not public.')
}

function reachOf(url: URL, host: string, rules: UrlRules): Reach {
  if (url.protocol === 'https:' || rules.allowHttp) return rules.allowLoopback ? 'both' : 'public'
  // Plain http by leave of `allowLoopback` alone stays on this machine, whatever the name resolves to.
  if (rules.allowLoopback && isLoopbackHost(host)) return 'loopback'
  throw new SourceError('SCHEME', 'The source is not https.')
}

function isLoopbackHost(host: string): boolean {
  return /^(.+\.)?localhost\.?$/.test(host) || admits('loopback', host)
}
