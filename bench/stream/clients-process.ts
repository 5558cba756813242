/** Thousands of clients that read what comes and count it, on plain sockets, so that they cost little. */
import { connect, type Socket } from 'node:net'
import { type ClientsAnswer, type ClientsOrder, sharedNow } from './stream-messages.ts'

const MESSAGE = Buffer.from('event: task')
const SNAPSHOT = 'event: snapshot'
const OPENING_AT_ONCE = 50
const sockets = new Map<string, Socket[]>()
const counts = new Map<string, number>()
const last: Record<string, number> = {}
const streams: Record<string, number> = {}

function count(chunk: Buffer): number {
  let messages = 0
  for (let at = chunk.indexOf(MESSAGE); at >= 0; at = chunk.indexOf(MESSAGE, at + 11)) messages += 1
  return messages
}

function noteEnds(chunk: Buffer): void {
  if (!chunk.includes('"change":"completed"')) return
  for (const [, id = ''] of chunk.toString('latin1').matchAll(/"task":\{"id":"([0-9a-f-]{36})"/g)) {
    last[id] = sharedNow()
    streams[id] = (streams[id] ?? 0) + 1
  }
}

function open(port: number, server: string, token: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1' })
    let isOpen = false
    socket.on('data', (chunk) => {
      if (isOpen) {
        counts.set(server, (counts.get(server) ?? 0) + count(chunk))
        noteEnds(chunk)
      } else if (chunk.includes(SNAPSHOT)) {
        isOpen = true
        resolve()
      } else if (chunk.includes('HTTP/1.1 4') || chunk.includes('HTTP/1.1 5')) {
        reject(new Error(chunk.toString().slice(0, 500)))
      }
    })
    socket.once('error', reject)
    socket.write(`GET /v1/stream HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer ${token}\r\n\r\n`)
    const ofServer = sockets.get(server) ?? []
    sockets.set(server, ofServer)
    ofServer.push(socket)
  })
}

async function openAll({ port, server, tokens }: Extract<ClientsOrder, { kind: 'open' }>): Promise<void> {
  const waiting = tokens.values()
  const opener = async () => {
    for (const token of waiting) await open(port, server, token)
  }
  await Promise.all(Array.from({ length: OPENING_AT_ONCE }, opener))
}

const answer = (given: ClientsAnswer) => process.send?.(given)
process.on('message', async (order: ClientsOrder) => {
  if (order.kind === 'open') {
    await openAll(order)
    answer({ kind: 'open' })
  } else if (order.kind === 'count') {
    answer({ kind: 'count', messages: counts.get(order.server) ?? 0 })
    counts.set(order.server, 0)
  } else if (order.kind === 'arrivals') {
    answer({ kind: 'arrivals', last, streams })
  } else {
    for (const socket of sockets.get(order.server) ?? []) socket.destroy()
    sockets.delete(order.server)
    answer({ kind: 'closed' })
  }
})
process.on('disconnect', () => process.exit(0))
answer({ kind: 'closed' })
