export interface ServerEvent {
  event: string
  id: string | undefined
  data: unknown
}

export interface EventReader {
  /** The next event. Rejects when the stream ends or nothing comes for 10 s. */
  next(): Promise<ServerEvent>
  /** Skips others until this one comes. */
  until(event: string): Promise<ServerEvent>
  /** The next comment, such as a heartbeat. */
  nextComment(): Promise<string>
  /** Everything up to the end of the stream. */
  rest(): Promise<ServerEvent[]>
  cancel(): Promise<void>
}

const PATIENCE_MS = 10_000

/** Reads server-sent events as they come. */
export function readEvents(response: Response): EventReader {
  if (!response.body) throw new Error('there is no stream to read')
  const reader = response.body.getReader()
  const decoder = new TextDecoder()
  let buffer = ''

  async function nextBlock(): Promise<string | null> {
    for (;;) {
      const end = buffer.indexOf('\n\n')
      if (end >= 0) {
        const block = buffer.slice(0, end)
        buffer = buffer.slice(end + 2)
        return block
      }
      const chunk = await inTime(reader.read())
      if (chunk.done) return null
      buffer += decoder.decode(chunk.value, { stream: true })
    }
  }

  async function nextEvent(): Promise<ServerEvent | null> {
    for (let block = await nextBlock(); block !== null; block = await nextBlock())
      if (!block.startsWith(':')) return parse(block)
    return null
  }

  async function next(): Promise<ServerEvent> {
    const event = await nextEvent()
    if (!event) throw new Error('the stream ended')
    return event
  }

  return {
    next,
    async until(name) {
      for (;;) {
        const event = await next()
        if (event.event === name) return event
      }
    },
    async nextComment() {
      for (let block = await nextBlock(); block !== null; block = await nextBlock())
        if (block.startsWith(':')) return block.slice(1).trim()
      throw new Error('the stream ended')
    },
    async rest() {
      const events: ServerEvent[] = []
      for (let event = await nextEvent(); event; event = await nextEvent()) events.push(event)
      return events
    },
    cancel: () => reader.cancel(),
  }
}

function parse(block: string): ServerEvent {
  const field = (name: string) =>
    block
      .split('\n')
      .filter((line) => line.startsWith(`${name}: `))
      .map((line) => line.slice(name.length + 2))
      .join('\n')
  return { event: field('event'), id: field('id') || undefined, data: JSON.parse(field('data')) }
}

async function inTime<T>(promise: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`nothing came for ${PATIENCE_MS} ms`)), PATIENCE_MS)
  })
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}
