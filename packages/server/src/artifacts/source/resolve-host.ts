import type { LookupAddress } from 'node:dns'
import { lookup as systemLookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import { admits, type Reach } from './address-rules.ts'
import { forbiddenAddress } from './check-url.ts'
import { SourceError } from './source-error.ts'

/** All addresses of a name, in the order in which they should be tried. */
export type Lookup = (hostname: string) => Promise<LookupAddress[]>

export const lookupInSystem: Lookup = (hostname) => systemLookup(hostname, { all: true, order: 'verbatim' })

/**
 * The addresses to connect to: looked up once, checked, and from then on pinned, so that a name which answers
 * differently a moment later gains nothing. One forbidden answer among good ones condemns the name: an honest one has none.
 */
export async function resolveHost(host: string, reach: Reach, lookup: Lookup): Promise<LookupAddress[]> {
  const version = isIP(host)
  const addresses = version === 0 ? await lookupName(host, lookup) : [{ address: host, family: version }]
  if (!addresses.every(({ address }) => admits(reach, address))) throw forbiddenAddress()
  return addresses
}

async function lookupName(host: string, lookup: Lookup): Promise<LookupAddress[]> {
  let addresses: LookupAddress[]
  try {
    addresses = await lookup(host)
  } catch (cause) {
    throw new SourceError('DNS', `The host ${host} could not be found.`, { cause })
  }
  if (addresses.length === 0) throw new SourceError('DNS', `The host ${host} has no address.`)
  return addresses
}
