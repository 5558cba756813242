/**
 * A provider that is hardly ever the bottleneck: HTTP/1.1 by hand on `node:net`, with keep-alive and pipelining.
 * It knows every task, says that each is still being generated, and counts.
 *
 * - `GET /api/v1/jobs/recordInfo?taskId=` as KIE answers it, about 600 bytes
 * - `GET /count` how many polls were answered so far
 * - `GET /when?count=N` the same, but answered only when there were N
 */
import { createServer, type Socket } from 'node:net'

const POLL = 'GET /api/v1/jobs/recordInfo?taskId='
const PARAM = JSON.stringify({
  model: 'google/nano-banana',
  callBackUrl: 'https://studio.example.com/v1/webhooks/kie?task=0199a1b2c3d4&secret=7f3a9c',
  input: {
    prompt:
      'A lighthouse on a basalt cliff at dusk, long exposure, sea mist, warm light in the lantern room, wide angle',
    output_format: 'png',
    image_size: '16:9',
  },
})

let answered = 0
let waiting: { count: number; socket: Socket }[] = []

function reply(body: string): string {
  return `HTTP/1.1 200 OK\r\nServer: nginx\r\nDate: ${now}\r\nContent-Type: application/json;charset=UTF-8\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: keep-alive\r\n\r\n${body}`
}

let now = new Date().toUTCString()
setInterval(() => {
  now = new Date().toUTCString()
}, 1_000).unref()

const ID = '\u0000'
const template = JSON.stringify({
  code: 200,
  msg: 'success',
  data: {
    taskId: ID,
    model: 'google/nano-banana',
    state: 'generating',
    param: PARAM,
    resultJson: '',
    failCode: '',
    failMsg: '',
    costTime: null,
    completeTime: null,
    createTime: 1_763_200_000_000,
    updateTime: 1_763_200_004_211,
    creditsConsumed: 4,
  },
})
const [before = '', after = ''] = template.split(JSON.stringify(ID).slice(1, -1))

function answer(head: string, start: number, socket: Socket): string {
  if (head.startsWith(POLL, start)) {
    const from = start + POLL.length
    answered++
    return reply(before + head.slice(from, head.indexOf(' ', from)) + after)
  }
  const [, path = '', count] = /^GET (\/\w+)(?:\?count=(\d+))? /.exec(head.slice(start, start + 100)) ?? []
  if (path === '/count') return reply(String(answered))
  if (path === '/when') {
    if (answered >= Number(count)) return reply(String(answered))
    waiting.push({ count: Number(count), socket })
    return ''
  }
  return 'HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n'
}

const server = createServer({ noDelay: true }, (socket) => {
  let rest = ''
  socket.setEncoding('latin1')
  // A contender that was ended in the middle of a pass; the next one opens its own.
  socket.on('error', () => socket.destroy())
  socket.on('data', (chunk: string) => {
    const input = rest + chunk
    let out = ''
    let start = 0
    for (let end = input.indexOf('\r\n\r\n'); end >= 0; end = input.indexOf('\r\n\r\n', start)) {
      out += answer(input, start, socket)
      start = end + 4
    }
    rest = input.slice(start)
    if (out) socket.write(out, 'latin1')
    if (waiting.length > 0) {
      const reached = waiting.filter(({ count }) => answered >= count)
      for (const { socket } of reached) socket.write(reply(String(answered)), 'latin1')
      if (reached.length > 0) waiting = waiting.filter(({ count }) => answered < count)
    }
  })
})

server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  if (address && typeof address === 'object') process.send?.({ port: address.port })
})
// The benchmark is gone, however it ended.
process.on('disconnect', () => process.exit(0))
