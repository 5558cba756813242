import { Hono } from 'hono'
import { describe, expect, it } from 'vitest'
import { createMemoryLog } from '../../test/memory-log.ts'
import type { AppEnv } from './app-context.ts'
import { problemResponse } from './problem-response.ts'
import { readBytes } from './read-bytes.ts'
import { trace } from './trace.ts'

function post(body: BodyInit | undefined, headers: Record<string, string> = {}, withinMs = 10_000) {
  const app = new Hono<AppEnv>()
  app.onError((error, c) => problemResponse(error, c))
  app.use(trace(createMemoryLog().log))
  app.post('/', async (c) => c.json({ bytes: (await readBytes(c, { maxBytes: 2048, withinMs })).length }))
  return app.request('/', {
    method: 'POST',
    headers,
    ...(body === undefined ? {} : { body, duplex: 'half' }),
  })
}
/** Gives `count` pieces of 1 kB, then ends, or goes on without another word. */
const pieces = (count: number, ends: boolean) => {
  let given = 0
  return new ReadableStream({
    pull(controller) {
      if (given < count) controller.enqueue(new Uint8Array(1024))
      else if (ends) controller.close()
      else return new Promise(() => {})
      given += 1
    },
  })
}

describe('the bytes of a body', () => {
  it('are read whole, none included', async () => {
    expect(await (await post(pieces(2, true))).json()).toEqual({ bytes: 2048 })
    expect(await (await post(undefined)).json()).toEqual({ bytes: 0 })
  })

  it('are not waited for once there are too many', async () => {
    const answer = await post(pieces(3, false))
    expect(answer.status).toBe(413)
    expect(await answer.json()).toMatchObject({
      code: 'BODY_TOO_LARGE',
      detail: expect.stringContaining('2 kB'),
    })
  })

  it('are not waited for if the headers say that there are too many', async () => {
    expect((await post(pieces(0, false), { 'content-length': '2049' })).status).toBe(413)
  })

  it('are given up when they do not come to an end in time', async () => {
    const answer = await post(pieces(1, false), {}, 50)
    expect(answer.status).toBe(408)
    expect(await answer.json()).toMatchObject({ code: 'BODY_TOO_SLOW' })
  })
})
