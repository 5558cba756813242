export interface ServerSentEvent {
  event: string
  data: string
  /** Null when this event has none of its own. */
  id: string | null
}

/**
 * Reads `text/event-stream`, in whatever pieces it arrives. `EventSource` cannot send a token, and a parser for every
 * dialect is a seventh of what this package may weigh; the tests compare the two. Lines end in LF or CRLF, as all
 * servers send them.
 */
export function createEventReader(onEvent: (event: ServerSentEvent) => void): (text: string) => void {
  let rest = ''
  let fields: Record<string, string> = {}

  return (text) => {
    const lines = (rest + text).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) {
      const [, name = '', value = ''] = /^([^:\r]*)(?:: ?([^\r]*))?/.exec(line) ?? []
      // Several lines of data are one text; of everything else the last counts.
      if (name) fields[name] = name === 'data' && 'data' in fields ? `${fields.data}\n${value}` : value
      else if (line.length < 2 && line !== ':') {
        const { event, data, id = null } = fields
        fields = {}
        if (data !== undefined) onEvent({ event: event || 'message', data, id })
      }
    }
  }
}
