import type { IncomingMessage, ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Behaviours } from './behaviours.ts'
import { PROXY_PAGE, sendAnswer } from './reply.ts'
import type { ResultFile } from './result-files.ts'
import { sendFile } from './send-file.ts'

export interface Media {
  behaviours: Behaviours
  /** How often this file has been asked for, this time included. */
  fetches: number
  /** How long the link still works; nothing or less is expired. */
  leftMs: number
  read(): Promise<ResultFile>
}

/** Where a server that follows redirects blindly would hand out its own credentials. */
const PRIVATE_ADDRESS = 'http://169.254.169.254/latest/meta-data/'
const DRIP_BYTES = 1_024
const DRIP_MS = 20

/** Answers for a result file: the file, or one of the ways in which file servers fail. */
export async function sendMedia(
  request: IncomingMessage,
  response: ServerResponse,
  media: Media,
): Promise<void> {
  const { behaviours, fetches, leftMs } = media
  const isNow = (name: string) =>
    name in behaviours && fetches <= (behaviours[name] ?? Number.POSITIVE_INFINITY)
  const plain = (status: number, text: string) =>
    sendAnswer(response, { status, headers: { 'content-type': 'text/plain' }, text })

  if (isNow('media-404')) return plain(404, 'There is no such file')
  if (isNow('media-500')) return plain(500, 'Out of order')
  if (isNow('media-403') || !(leftMs > 0)) return plain(403, 'This link has expired')
  if (isNow('media-redirect'))
    return sendAnswer(response, { status: 302, headers: { location: PRIVATE_ADDRESS } })
  if (isNow('media-html')) return sendAnswer(response, { ...PROXY_PAGE, status: 200 })

  const { bytes, contentType } = await media.read()
  const headers = {
    'content-type': isNow('media-type') ? 'text/html' : contentType,
    'cache-control': `private, max-age=${Math.floor(leftMs / 1000)}`,
    'access-control-allow-origin': '*',
  }
  if (isNow('media-cut')) {
    response.writeHead(200, { ...headers, 'content-length': bytes.length })
    // Cut only once the first half is on its way, so that the other side has something to be misled by.
    response.write(bytes.subarray(0, Math.floor(bytes.length / 2)), () => response.destroy())
    return
  }
  if (isNow('media-slow')) return drip(response, bytes, headers)
  sendFile(request, response, bytes, headers)
}

async function drip(
  response: ServerResponse,
  bytes: Uint8Array,
  headers: Record<string, string>,
): Promise<void> {
  response.writeHead(200, { ...headers, 'content-length': bytes.length })
  for (let from = 0; from < bytes.length && !response.destroyed; from += DRIP_BYTES) {
    response.write(bytes.subarray(from, from + DRIP_BYTES))
    await sleep(DRIP_MS, undefined, { ref: false })
  }
  response.end()
}
