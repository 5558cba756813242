import { BlockList, isIP } from 'node:net'

/**
 * IPv4 that is not the public internet: IANA's special-purpose registry, and the one metadata service that lives at
 * an ordinary address. Other clouds' metadata services are inside these ranges.
 */
const FORBIDDEN_IPV4: readonly [network: string, prefix: number][] = [
  ['0.0.0.0', 8], // this network; 0.0.0.0 reaches the machine itself on Linux
  ['10.0.0.0', 8], // private
  ['100.64.0.0', 10], // carrier-grade NAT; Alibaba's metadata service
  ['127.0.0.0', 8], // loopback
  ['168.63.129.16', 32], // Azure's host agent and resolver
  ['169.254.0.0', 16], // link-local; metadata of most clouds
  ['172.16.0.0', 12], // private
  ['192.0.0.0', 24], // protocol assignments; Oracle's metadata service
  ['192.0.2.0', 24], // documentation
  ['192.88.99.0', 24], // 6to4 relays, withdrawn
  ['192.168.0.0', 16], // private
  ['198.18.0.0', 15], // benchmarking
  ['198.51.100.0', 24], // documentation
  ['203.0.113.0', 24], // documentation
  ['224.0.0.0', 4], // multicast
  ['240.0.0.0', 4], // reserved, and broadcast
]

/** Of IPv6 only this is let through, so that what nobody thought of (ULA, link-local, multicast, ...) is not. */
const REACHABLE_IPV6: readonly [network: string, prefix: number][] = [
  ['2000::', 3], // global unicast
  ['::ffff:0.0.0.0', 96], // IPv4 in the dress of IPv6: as the IPv4 inside
  ['64:ff9b::', 96], // NAT64, which a resolver behind it answers for every IPv4 host: as the IPv4 inside
]

/** The parts of global unicast that are not. */
const FORBIDDEN_IPV6: readonly [network: string, prefix: number][] = [
  ['2001::', 23], // protocol assignments: Teredo, benchmarking, ORCHID
  ['2001:db8::', 32], // documentation
  ['2002::', 16], // 6to4: an IPv4 of anybody's choice
  ['3fff::', 20], // documentation
]

const forbidden = new BlockList()
for (const [network, prefix] of FORBIDDEN_IPV4) {
  forbidden.addSubnet(network, prefix, 'ipv4')
  for (const dress of ['::ffff:', '64:ff9b::']) forbidden.addSubnet(dress + network, 96 + prefix, 'ipv6')
}
for (const [network, prefix] of FORBIDDEN_IPV6) forbidden.addSubnet(network, prefix, 'ipv6')

const reachable = new BlockList()
for (const [network, prefix] of REACHABLE_IPV6) reachable.addSubnet(network, prefix, 'ipv6')

const loopback = new BlockList()
loopback.addSubnet('127.0.0.0', 8, 'ipv4')
loopback.addSubnet('::ffff:127.0.0.0', 104, 'ipv6')
loopback.addAddress('::1', 'ipv6')

/** Which addresses a connection may go to. Only development ever asks for loopback. */
export type Reach = 'public' | 'loopback' | 'both'

/** Whether `address`, in any form the system writes addresses in, may be connected to. */
export function admits(reach: Reach, address: string): boolean {
  const version = isIP(address)
  // A zone (fe80::1%eth0) belongs to this machine's own links, and no list understands it.
  if (version === 0 || address.includes('%')) return false
  const family = version === 4 ? 'ipv4' : 'ipv6'
  if (loopback.check(address, family)) return reach !== 'public'
  if (reach === 'loopback') return false
  return (version === 4 || reachable.check(address, family)) && !forbidden.check(address, family)
}
