/**
 * A provider's file host that is hardly ever the bottleneck: HTTP/1.1 on `node:net`, with keep-alive, which sends the
 * same bytes from memory again and again. `GET /N/name` is a picture of N bytes.
 */
import { createServer, type Socket } from 'node:net'
import { pictureChunks } from './picture-chunks.ts'

async function send(socket: Socket, bytes: number): Promise<void> {
  socket.write(
    `HTTP/1.1 200 OK\r\nContent-Type: image/png\r\nContent-Length: ${bytes}\r\nConnection: keep-alive\r\n\r\n`,
  )
  for (const chunk of pictureChunks(bytes)) {
    if (socket.destroyed) return
    if (!socket.write(chunk)) await hasRoom(socket)
  }
}

function hasRoom(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    const go = () => {
      socket.off('drain', go).off('close', go)
      resolve()
    }
    socket.on('drain', go).on('close', go)
  })
}

const server = createServer({ noDelay: true }, (socket) => {
  let input = ''
  let last = Promise.resolve()
  socket.setEncoding('latin1')
  socket.on('error', () => socket.destroy())
  socket.on('data', (chunk: string) => {
    input += chunk
    for (let end = input.indexOf('\r\n\r\n'); end >= 0; end = input.indexOf('\r\n\r\n')) {
      const bytes = Number(/^GET \/(\d+)\//.exec(input)?.[1] ?? 0)
      input = input.slice(end + 4)
      last = last.then(() => send(socket, bytes))
    }
  })
})

server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  if (address && typeof address === 'object') process.send?.({ port: address.port })
})
// The benchmark is gone, however it ended.
process.on('disconnect', () => process.exit(0))
