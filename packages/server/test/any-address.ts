import fc from 'fast-check'

/**
 * Ranges as IANA lists them, written down a second time and in another form, so that the tests do not take the code's
 * word for what is public.
 */
const FORBIDDEN: [first: number, last: number][] = [
  [0x00000000, 0x00ffffff],
  [0x0a000000, 0x0affffff],
  [0x64400000, 0x647fffff],
  [0x7f000000, 0x7fffffff],
  [0xa83f8110, 0xa83f8110],
  [0xa9fe0000, 0xa9feffff],
  [0xac100000, 0xac1fffff],
  [0xc0000000, 0xc00000ff],
  [0xc0000200, 0xc00002ff],
  [0xc0586300, 0xc05863ff],
  [0xc0a80000, 0xc0a8ffff],
  [0xc6120000, 0xc613ffff],
  [0xc6336400, 0xc63364ff],
  [0xcb007100, 0xcb0071ff],
  [0xe0000000, 0xffffffff],
]

/** An IPv4 that nobody should be sent to, as a number. Ranges are equally likely, whatever their size, and so are their ends. */
export const forbiddenIPv4 = fc
  .constantFrom(...FORBIDDEN)
  .chain(([first, last]) => fc.oneof(fc.constantFrom(first, last), fc.integer({ min: first, max: last })))

export const publicIPv4 = fc
  .integer({ min: 0, max: 0xffffffff })
  .filter((address) => !FORBIDDEN.some(([first, last]) => address >= first && address <= last))

/** Global unicast, but for what was set aside in it. */
export const publicIPv6 = fc
  .tuple(
    fc.integer({ min: 0x2000, max: 0x3fff }),
    fc.array(fc.integer({ min: 0, max: 0xffff }), { minLength: 7, maxLength: 7 }),
  )
  .filter(([first, [second = 0]]) => {
    if (first === 0x2001) return second >= 0x200 && second !== 0xdb8
    return first !== 0x2002 && !(first === 0x3fff && second < 0x1000)
  })
  .map(([first, rest]) => [first, ...rest].map((group) => group.toString(16)).join(':'))

export function toDotted(address: number): string {
  return [24, 16, 8, 0].map((shift) => (address >>> shift) & 0xff).join('.')
}

type Part = { value: number; bytes: number }

/** One number as decimal, octal or hexadecimal, with zeros in front or not. */
const anyNumber = (value: number) =>
  fc
    .tuple(fc.constantFrom('decimal', 'octal', 'hex', 'HEX'), fc.integer({ min: 0, max: 3 }))
    .map(([base, zeros]) => {
      if (base === 'decimal') return String(value)
      if (base === 'octal') return `0${'0'.repeat(zeros)}${value.toString(8)}`
      const digits = '0'.repeat(zeros) + value.toString(16)
      return base === 'hex' ? `0x${digits}` : `0X${digits.toUpperCase()}`
    })

/** Characters that stand for digits and dots in the eyes of a URL parser. */
const disguise = (text: string) =>
  fc.constantFrom(
    text,
    text.replace(/[0-9]/g, (digit) => String.fromCharCode(0xff10 + Number(digit))),
    text.replaceAll('.', '\u3002'),
    text.replace(/./g, (character) => `%${character.charCodeAt(0).toString(16)}`),
    `${text}.`,
  )

/** Every way to write an IPv4 in a URL: one to four parts, each in any base, and disguised. */
export function anyNotation(address: number): fc.Arbitrary<string> {
  return fc.integer({ min: 1, max: 4 }).chain((parts) => {
    const leading: Part[] = Array.from({ length: parts - 1 }, (_, place) => ({
      value: (address >>> (24 - 8 * place)) & 0xff,
      bytes: 1,
    }))
    const bytesLeft = 4 - leading.length
    const last = bytesLeft === 4 ? address : address & (2 ** (8 * bytesLeft) - 1)
    return fc
      .tuple(...[...leading.map(({ value }) => value), last >>> 0].map(anyNumber))
      .chain((written) => disguise(written.join('.')))
  })
}
