/** A user's `GET /v1/stream`: tells when each task was first shown as completed. */
export async function watchStream(url: string, token: string) {
  const closing = new AbortController()
  const completed = new Map<string, PromiseWithResolvers<number>>()
  const of = (id: string) => {
    const known = completed.get(id) ?? Promise.withResolvers<number>()
    completed.set(id, known)
    return known
  }
  const response = await fetch(`${url}/v1/stream`, {
    headers: { authorization: `Bearer ${token}` },
    signal: closing.signal,
  })
  if (!response.ok || !response.body) throw new Error(`The stream was answered with ${response.status}.`)

  async function read(body: ReadableStream<Uint8Array>): Promise<void> {
    const decoder = new TextDecoder()
    let rest = ''
    for await (const chunk of body) {
      const now = performance.now()
      const events = (rest + decoder.decode(chunk, { stream: true })).split('\n\n')
      rest = events.pop() ?? ''
      for (const event of events) {
        if (!event.includes('event: task\n') && !event.startsWith('event: task')) continue
        const data = /^data: ?(.*)$/m.exec(event)?.[1]
        if (!data) continue
        const { task }: { task: { id: string; status: string } } = JSON.parse(data)
        if (task.status === 'completed') of(task.id).resolve(now)
      }
    }
  }
  // It ends when it is closed, or with the server.
  read(response.body).catch(() => {})
  return {
    /** By the clock of `performance.now`. */
    completedAt: (id: string) => of(id).promise,
    close: () => closing.abort(),
  }
}
