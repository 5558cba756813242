import { never, whileAlive } from './while-alive.ts'

export interface SimulatedNetwork {
  fetch: typeof fetch
  /** Cuts what is under way, and lets nothing new through. */
  setOffline(offline: boolean): void
}

/** What `fetch` rejects with when there is no network. */
const failure = () => new TypeError('Failed to fetch (offline is simulated)')

export function createSimulatedNetwork(real: typeof fetch, death: AbortSignal): SimulatedNetwork {
  const lines = new Set<AbortController>()
  let offline = false

  function cut(reason: unknown) {
    for (const line of lines) line.abort(reason)
    lines.clear()
  }
  // The server sees a dead tab's connections close.
  death.addEventListener('abort', () => cut(death.reason))

  async function request(input: RequestInfo | URL, init?: RequestInit): Promise<Response> {
    if (offline) throw failure()
    const line = new AbortController()
    const caller = init?.signal
    const hangUp = () => line.abort(caller?.reason)
    const end = () => {
      lines.delete(line)
      caller?.removeEventListener('abort', hangUp)
    }
    lines.add(line)
    caller?.addEventListener('abort', hangUp)
    if (caller?.aborted) hangUp()
    try {
      const response = await real(input, { ...init, signal: line.signal })
      if (response.body) return answerOver(response, response.body, death, end)
      end()
      return response
    } catch (error) {
      end()
      throw error
    }
  }

  return {
    fetch: (input, init) => (death.aborted ? never() : whileAlive(death, request(input, init))),
    setOffline(next) {
      offline = next
      if (offline) cut(failure())
    },
  }
}

/** The same answer, with a body that says when it has ended and falls silent when the tab dies. */
function answerOver(
  response: Response,
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
  death: AbortSignal,
  onEnd: () => void,
): Response {
  const reader = body.getReader()
  const carried = new ReadableStream<Uint8Array<ArrayBuffer>>(
    {
      async pull(controller) {
        try {
          const { done, value } = await whileAlive(death, reader.read())
          if (!done) return controller.enqueue(value)
          onEnd()
          controller.close()
        } catch (error) {
          onEnd()
          controller.error(error)
        }
      },
      cancel(reason) {
        onEnd()
        return reader.cancel(reason)
      },
    },
    { highWaterMark: 0 },
  )
  return new Response(carried, response)
}
