import { createParser } from 'eventsource-parser'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { createEventReader, type ServerSentEvent } from './event-reader.ts'

function readAll(pieces: string[]): ServerSentEvent[] {
  const events: ServerSentEvent[] = []
  const read = createEventReader((event) => events.push(event))
  pieces.forEach(read)
  return events
}

function readByTheBook(text: string): ServerSentEvent[] {
  const events: ServerSentEvent[] = []
  const parser = createParser({
    onEvent: ({ event = 'message', data, id = null }) => events.push({ event: event || 'message', data, id }),
  })
  parser.feed(text)
  return events
}

const line = fc.oneof(
  fc.constantFrom(
    '',
    '',
    ': still here',
    'data',
    'data:',
    'data: ',
    'event: task',
    'event',
    'id: 7',
    'id',
    'retry: 5',
  ),
  fc
    .tuple(
      fc.constantFrom('data:', 'data: ', 'event:', 'id: ', 'other: '),
      fc.string({ unit: fc.constantFrom('a', ':', ' ', 'é') }),
    )
    .map((parts) => parts.join('')),
)

/** A text, and the same text cut anywhere. */
const streams = fc
  .tuple(
    fc.array(fc.tuple(line, fc.constantFrom('\n', '\r\n')), { maxLength: 20 }),
    fc.array(fc.nat({ max: 200 })),
  )
  .map(([lines, cuts]) => {
    const text = lines.map((parts) => parts.join('')).join('')
    const places = [0, ...cuts.map((cut) => Math.min(cut, text.length)), text.length].sort((a, b) => a - b)
    return { text, pieces: places.slice(1).map((end, index) => text.slice(places[index], end)) }
  })

it('reads what the reference parser reads, however the text is cut', () => {
  fc.assert(
    fc.property(streams, ({ text, pieces }) => {
      expect(readAll(pieces)).toEqual(readByTheBook(text))
    }),
    { numRuns: 2_000 },
  )
})
