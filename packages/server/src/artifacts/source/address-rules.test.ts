import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { forbiddenIPv4, publicIPv4, publicIPv6, toDotted } from '../../../test/any-address.ts'
import { admits } from './address-rules.ts'

const FORBIDDEN = {
  'this network': ['0.0.0.0', '0.1.2.3', '0.255.255.255', '::'],
  loopback: ['127.0.0.1', '127.255.255.254', '::1'],
  private: ['10.0.0.1', '10.255.255.255', '172.16.0.1', '172.31.255.255', '192.168.0.1', '192.168.255.255'],
  'carrier-grade NAT': ['100.64.0.1', '100.127.255.255'],
  'link-local': ['169.254.0.1', '169.254.255.255', 'fe80::1', 'febf::1', 'fe80::1%lo'],
  'unique local': ['fc00::1', 'fdff:ffff::1'],
  'site-local': ['fec0::1'],
  'metadata services': [
    '169.254.169.254',
    '100.100.100.200',
    '192.0.0.192',
    '168.63.129.16',
    'fd00:ec2::254',
  ],
  'protocol assignments': [
    '192.0.0.1',
    '192.88.99.1',
    '2001:1::1',
    '2001:10::1',
    '2001:20::1',
    '5f00::1',
    '100::1',
  ],
  documentation: ['192.0.2.1', '198.51.100.1', '203.0.113.1', '2001:db8::1', '3fff::1', '3fff:fff::1'],
  benchmarking: ['198.18.0.1', '198.19.255.255', '2001:2::1'],
  multicast: ['224.0.0.1', '239.255.255.255', 'ff02::1', 'ff0e::1'],
  'reserved and broadcast': ['240.0.0.1', '255.255.255.254', '255.255.255.255'],
  'IPv4 in IPv6': [
    '::ffff:10.0.0.1',
    '::ffff:7f00:1',
    '::ffff:a9fe:a9fe',
    '::10.0.0.1',
    '::7f00:1',
    '::ffff:0:10.0.0.1',
  ],
  NAT64: ['64:ff9b::10.0.0.1', '64:ff9b::a9fe:a9fe', '64:ff9b:1::8.8.8.8', '64:ff9b:1::a00:1'],
  '6to4 and Teredo': ['2002:a00:1::1', '2002:808:808::1', '2001:0:4136:e378:8000:63bf:3fff:fdd2'],
  'no address': [
    '',
    'localhost',
    '10.0.0',
    '010.0.0.1',
    '1.2.3.4/8',
    '8.8.8.8%lo',
    '2606:4700::1%eth0',
    ' 8.8.8.8',
  ],
}

describe.each(Object.entries(FORBIDDEN))('S3 %s is not public', (_kind, addresses) => {
  test.each(addresses)('%s', (address) => {
    expect(admits('public', address)).toBe(false)
  })
})

test('S3 what borders on a forbidden range is public', () => {
  const neighbours = [
    '1.0.0.0',
    '9.255.255.255',
    '11.0.0.0',
    '100.63.255.255',
    '100.128.0.0',
    '126.255.255.255',
  ]
  neighbours.push(
    '128.0.0.0',
    '168.63.129.15',
    '168.63.129.17',
    '169.253.255.255',
    '169.255.0.0',
    '172.15.255.255',
  )
  neighbours.push('172.32.0.0', '192.0.1.0', '192.0.3.0', '192.88.98.255', '192.88.100.0', '192.167.255.255')
  neighbours.push(
    '192.169.0.0',
    '198.17.255.255',
    '198.20.0.0',
    '198.51.99.255',
    '203.0.114.0',
    '223.255.255.255',
  )
  neighbours.push('2001:200::', '2001:db7:ffff::1', '2001:db9::', '2003::', '3ffe::1', '2606:4700::1111')
  for (const address of neighbours) expect([address, admits('public', address)]).toEqual([address, true])
})

test('S3 public addresses are public in the dress of IPv6 and behind NAT64 too', () => {
  expect(admits('public', '::ffff:8.8.8.8')).toBe(true)
  expect(admits('public', '64:ff9b::808:808')).toBe(true)
})

test('S3 development adds loopback and nothing else', () => {
  for (const address of ['127.0.0.1', '127.1.2.3', '::1', '::ffff:127.0.0.1']) {
    expect(admits('both', address)).toBe(true)
    expect(admits('loopback', address)).toBe(true)
  }
  for (const address of [
    '10.0.0.1',
    '0.0.0.0',
    '169.254.169.254',
    '::',
    'fe80::1',
    '::ffff:10.0.0.1',
    '::127.0.0.1',
  ]) {
    expect(admits('both', address)).toBe(false)
    expect(admits('loopback', address)).toBe(false)
  }
  expect(admits('both', '8.8.8.8')).toBe(true)
  expect(admits('loopback', '8.8.8.8')).toBe(false)
})

test('S3 every IPv4 of a forbidden range is refused, and every IPv6 that carries it', () => {
  fc.assert(
    fc.property(forbiddenIPv4, (address) => {
      const dotted = toDotted(address)
      const [high, low] = [address >>> 16, address & 0xffff].map((half) => half.toString(16))
      const carriers = [
        `::ffff:${dotted}`,
        `::ffff:${high}:${low}`,
        `::${dotted}`,
        `::ffff:0:${dotted}`,
        `64:ff9b::${dotted}`,
        `64:ff9b:1::${dotted}`,
        `2002:${high}:${low}::1`,
        // Teredo writes its client's address inverted.
        `2001:0:808:808:0:0:${((address >>> 16) ^ 0xffff).toString(16)}:${((address & 0xffff) ^ 0xffff).toString(16)}`,
      ]
      return [dotted, ...carriers].every((each) => !admits('public', each))
    }),
    { numRuns: 2_000 },
  )
})

test('S3 no public address is refused', () => {
  fc.assert(
    fc.property(fc.oneof(publicIPv4.map(toDotted), publicIPv6), (address) => admits('public', address)),
    { numRuns: 2_000 },
  )
})
