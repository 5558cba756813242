import type { IncomingMessage, ServerResponse } from 'node:http'

/** A whole reply; `json` and `text` exclude each other. */
export interface Reply {
  status: number
  headers?: Record<string, string>
  json?: unknown
  text?: string
}

/** How a simulator answers: a reply, a cut socket, silence, or bytes written by hand. */
export type Answer = Reply | 'cut' | 'hang' | ((response: ServerResponse) => void | Promise<void>)

export const PROXY_PAGE: Reply = {
  status: 502,
  headers: { 'content-type': 'text/html' },
  text: '<html><head><title>502 Bad Gateway</title></head><body><h1>502 Bad Gateway</h1></body></html>',
}

export async function sendAnswer(response: ServerResponse, answer: Answer): Promise<void> {
  if (answer === 'cut') response.destroy()
  else if (typeof answer === 'function') await answer(response)
  else if (answer !== 'hang') {
    const { status, headers, json, text } = answer
    const body = json === undefined ? text : JSON.stringify(json)
    response.writeHead(status, {
      ...(json === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    })
    response.end(body)
  }
}

/** The start of what would have been the reply. */
export function brokenOff(answer: Answer): Answer {
  if (typeof answer !== 'object' || answer.json === undefined) return answer
  const whole = JSON.stringify(answer.json)
  return { status: answer.status, text: whole.slice(0, Math.floor(whole.length / 2)) }
}

const MAX_BODY = 1_000_000

/** Null if it is too large. */
export async function readBody(request: IncomingMessage): Promise<Buffer | null> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > MAX_BODY) return null
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}
