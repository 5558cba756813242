/** One message of PostgreSQL's protocol: its letter, and what follows its length. */
export interface PostgresMessage {
  letter: string
  body: Buffer
}

/**
 * Cuts a stream of bytes into messages. The first one of a client has no letter, so it is left out with `skipsFirst`.
 * Nothing here is encrypted: it is for loopback.
 */
export function createMessageReader({ skipsFirst }: { skipsFirst: boolean }) {
  let rest: Buffer = Buffer.alloc(0)
  let isFirst = skipsFirst
  return (chunk: Buffer): PostgresMessage[] => {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    const messages: PostgresMessage[] = []
    while (true) {
      const head = isFirst ? 0 : 1
      if (rest.length < head + 4) return messages
      const end = head + rest.readUInt32BE(head)
      if (rest.length < end) return messages
      if (!isFirst) messages.push({ letter: rest.toString('latin1', 0, 1), body: rest.subarray(5, end) })
      rest = rest.subarray(end)
      isFirst = false
    }
  }
}

/** The text that ends with the first zero byte from `at` on. */
export function readText(body: Buffer, at = 0): string {
  return body.toString('utf8', at, body.indexOf(0, at))
}
