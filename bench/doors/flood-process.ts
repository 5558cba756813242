import { request } from 'node:http'

/**
 * Sends so many bodies of that size to one address at once, in a process of its own so that nothing here slows down who
 * measures. Says as one line of JSON how each was answered: its status, or 0 where the connection was cut.
 */
const { url, count, bytes } = JSON.parse(process.argv[2] ?? '{}') as {
  url: string
  count: number
  bytes: number
}
const body = Buffer.alloc(bytes, '{"a":[1,2,3],')

function send(isChunked: boolean): Promise<number> {
  return new Promise((resolve) => {
    const headers: Record<string, string> = isChunked
      ? { 'transfer-encoding': 'chunked' }
      : { 'content-length': String(bytes) }
    const call = request(url, { method: 'POST', agent: false, headers })
    call.on('response', (response) => {
      response.resume()
      resolve(response.statusCode ?? 0)
      response.on('end', () => call.destroy())
    })
    call.on('error', () => resolve(0))
    call.end(body)
  })
}

const statuses = await Promise.all(Array.from({ length: count }, (_, n) => send(n % 2 === 1)))
process.stdout.write(`${JSON.stringify(statuses)}\n`, () => process.exit())
