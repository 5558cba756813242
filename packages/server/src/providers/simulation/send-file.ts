import type { IncomingMessage, ServerResponse } from 'node:http'

/** Answers with `bytes`, whole or as the one range asked for. Browsers seek in videos by ranges. */
export function sendFile(
  request: IncomingMessage,
  response: ServerResponse,
  bytes: Uint8Array,
  headers: Record<string, string>,
): void {
  const send = (status: number, part: Uint8Array, more: Record<string, string> = {}) => {
    response.writeHead(status, {
      ...headers,
      'accept-ranges': 'bytes',
      ...more,
      'content-length': part.length,
    })
    response.end(request.method === 'HEAD' ? undefined : part)
  }
  const range = /^bytes=(\d*)-(\d*)$/.exec(request.headers.range ?? '')
  if (!range || (range[1] === '' && range[2] === '')) {
    send(200, bytes)
    return
  }

  const size = bytes.length
  const isSuffix = range[1] === ''
  const first = isSuffix ? Math.max(0, size - Number(range[2])) : Number(range[1])
  const last = isSuffix || range[2] === '' ? size - 1 : Math.min(Number(range[2]), size - 1)
  if (first > last) send(416, new Uint8Array(), { 'content-range': `bytes */${size}` })
  else send(206, bytes.subarray(first, last + 1), { 'content-range': `bytes ${first}-${last}/${size}` })
}
