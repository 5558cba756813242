import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2'

type Listener = (
  request: IncomingMessage | Http2ServerRequest,
  response: ServerResponse | Http2ServerResponse,
) => void

/**
 * Drops callers who take nothing of their answer for so long. It would be held for them for ever: Node has limits for
 * slow requests only.
 */
export function cutStalled(listener: Listener, stallMs: number): Listener {
  return (request, response) => {
    response.setTimeout(stallMs, () => {
      // A quiet moment before there is an answer is not theirs.
      if (unsentOf(response) > 0) response.destroy()
    })
    listener(request, response)
  }
}

function unsentOf(response: ServerResponse | Http2ServerResponse): number {
  return 'stream' in response ? response.stream.writableLength : response.writableLength
}
