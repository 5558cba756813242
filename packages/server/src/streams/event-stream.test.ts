import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createEventStream, type EventStreamOptions } from './event-stream.ts'

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
})
afterEach(() => {
  vi.useRealTimers()
})

const encode = (text: string) => new TextEncoder().encode(text)

function open(options: Partial<EventStreamOptions> = {}) {
  const waiting: string[] = []
  const closed: string[] = []
  let left = 0
  let cuts = 0
  const stream = createEventStream({
    reader: {
      snapshot: encode('event: snapshot\n\n'),
      next: () => {
        const text = waiting.shift()
        return text === undefined ? null : encode(text)
      },
      leave: () => {
        left += 1
      },
    },
    heartbeatMs: 1_000,
    stallMs: 3_000,
    expiresInMs: null,
    retryMs: 2_500.4,
    cut: () => {
      cuts += 1
    },
    onClose: (how) => void closed.push(how),
    ...options,
  })
  const reader = stream.body.getReader()
  const decoder = new TextDecoder()
  return {
    stream,
    reader,
    waiting,
    closed,
    left: () => left,
    cuts: () => cuts,
    async read() {
      const { done, value } = await reader.read()
      return done ? null : decoder.decode(value)
    },
  }
}

describe('a stream of events', () => {
  it('begins with the snapshot and a time to wait before reconnecting', async () => {
    const { read } = open()
    expect(await read()).toBe('retry: 2500\nevent: snapshot\n\n')
  })

  it('makes bytes only when the client can take them', async () => {
    const { stream, waiting, read } = open()
    await read()
    waiting.push('one', 'two')
    stream.news()
    expect(waiting).toEqual(['one', 'two'])
    expect(await read()).toBe('one')
    expect(waiting).toEqual(['two'])
    expect(await read()).toBe('two')
    const next = read()
    await Promise.resolve()
    waiting.push('three')
    stream.news()
    expect(await next).toBe('three')
  })

  it('beats while there is nothing to say, counted from what was said last', async () => {
    const { stream, waiting, read } = open()
    await read()
    const first = read()
    await vi.advanceTimersByTimeAsync(900)
    waiting.push('news')
    stream.news()
    expect(await first).toBe('news')
    let beat: string | null | undefined
    void read().then((text) => {
      beat = text
    })
    await vi.advanceTimersByTimeAsync(950)
    expect(beat).toBeUndefined()
    await vi.advanceTimersByTimeAsync(100)
    expect(beat).toBe(': still here\n\n')
  })

  it('E2: a client that takes nothing is cut off, and holds no place from then on', async () => {
    const { read, closed, cuts, left } = open()
    await read()
    await vi.advanceTimersByTimeAsync(2_900)
    expect(closed).toEqual([])
    await vi.advanceTimersByTimeAsync(200)
    expect(closed).toEqual(['stalled'])
    expect(cuts()).toBe(1)
    expect(left()).toBe(1)
    await vi.advanceTimersByTimeAsync(60_000)
    expect(closed).toHaveLength(1)
  })

  it('ends when its token does, a long time ahead or already over', async () => {
    for (const expiresInMs of [5_500, -10]) {
      const { read, closed } = open({ expiresInMs })
      await read()
      const texts: (string | null)[] = []
      const done = (async () => {
        for (let text = await read(); ; text = await read()) {
          texts.push(text)
          if (text === null) return
        }
      })()
      await vi.advanceTimersByTimeAsync(Math.max(1, expiresInMs))
      await done
      expect(texts.slice(-2)).toEqual(['event: end\ndata: {"reason":"token-expired"}\n\n', null])
      expect(closed).toEqual(['token-expired'])
    }
  })

  it('bears a token that is good for longer than a timer can wait', async () => {
    const { closed } = open({ expiresInMs: 2 ** 40, stallMs: 2 ** 41, heartbeatMs: 2 ** 41 })
    await vi.advanceTimersByTimeAsync(60_000)
    expect(closed).toEqual([])
  })

  it('gives its place up at once when it is superseded, even if the client is not there to hear of it', async () => {
    const { stream, read, left, closed, waiting } = open()
    await read()
    waiting.push('never sent')
    stream.end('superseded')
    stream.end('shutdown')
    expect(left()).toBe(1)
    expect(await read()).toBe('event: end\ndata: {"reason":"superseded"}\n\n')
    expect(await read()).toBeNull()
    expect(closed).toEqual(['superseded'])
  })

  it('knows that its client has gone, once', async () => {
    const { stream, reader, closed } = open()
    await reader.cancel()
    stream.end('shutdown')
    stream.news()
    await vi.advanceTimersByTimeAsync(60_000)
    expect(closed).toEqual(['gone'])
  })
})
