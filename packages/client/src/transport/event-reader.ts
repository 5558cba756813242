export interface ServerSentEvent {
  event: string
  data: string
  /** Null when this event has none of its own. */
  id: string | null
}

/**
 * Reads `text/event-stream`, in whatever pieces it arrives. `EventSource` cannot send a token, and a parser for every
 * dialect is a seventh of what this package may weigh; the tests compare the two.
 */
export function createEventReader(onEvent: (event: ServerSentEvent) => void): (text: string) => void {
  let rest = ''
  let isFirst = true
  let fields: { event?: string; id?: string; data: string[] } = { data: [] }

  function takeLine(line: string) {
    if (line === '') {
      const { event, id = null, data } = fields
      fields = { data: [] }
      if (data.length > 0) onEvent({ event: event || 'message', id, data: data.join('\n') })
      return
    }
    const [, name, value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? []
    if (name === 'data') fields.data.push(value)
    else if (name === 'event' || (name === 'id' && !value.includes('\0'))) fields[name] = value
  }

  return (text) => {
    rest += isFirst ? text.replace(/^\uFEFF/, '') : text
    if (text !== '') isFirst = false
    // A CR at the very end may be the first half of a CRLF.
    const lines = rest.split(/\r\n|\n|\r(?!$)/)
    rest = lines.pop() ?? ''
    lines.forEach(takeLine)
  }
}
