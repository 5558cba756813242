import { stripVTControlCharacters, styleText } from 'node:util'
import { z } from 'zod'

const entrySchema = z.looseObject({
  level: z.number(),
  time: z.string(),
  msg: z.string().optional(),
  err: z.unknown().optional(),
})
const errorSchema = z.looseObject({
  message: z.string(),
  code: z.unknown().optional(),
  stack: z.string().optional(),
  cause: z.unknown().optional(),
})

const LEVELS = [
  { from: 60, word: 'FATAL', color: 'red' },
  { from: 50, word: 'ERROR', color: 'red' },
  { from: 40, word: 'WARN ', color: 'yellow' },
  { from: 30, word: 'INFO ', color: 'green' },
  { from: 20, word: 'DEBUG', color: 'gray' },
  { from: 0, word: 'TRACE', color: 'gray' },
] as const

/** A line of the log for people: the time of day, how bad, what happened, and the details behind it. */
export function prettyLine(line: string, { colors }: { colors: boolean }): string {
  const parsed = entrySchema.safeParse(parseJson(line))
  if (!parsed.success) return line
  const { level, time, msg = '', err, ...details } = parsed.data
  const { word, color } = LEVELS.find(({ from }) => level >= from) ?? LEVELS[5]
  const paint = (style: Parameters<typeof styleText>[0], text: string) =>
    colors ? styleText(style, text, { validateStream: false }) : text
  const said = Object.entries(details).map(([name, value]) => `${name}=${show(value)}`)
  const error = errorSchema.safeParse(err)
  const cause = error.success ? ` (${describe(error.data)})` : ''
  const rest = said.length > 0 ? `  ${paint('gray', said.join(' '))}` : ''
  const first = `${paint('gray', timeOfDay(time))} ${paint(color, word)} ${safe(msg + cause)}${rest}\n`
  const stack = error.success ? error.data.stack : undefined
  return stack ? `${first}${paint('gray', callsOf(stack))}\n` : first
}

/** For people at a terminal; what is not one gets no colours. */
export function prettyDestination(stream: NodeJS.WriteStream) {
  const colors = stream.isTTY === true && stream.hasColors?.() === true
  return { write: (line: string) => void stream.write(prettyLine(line, { colors })) }
}

function parseJson(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch {
    // Somebody else's line is shown as it is.
    return null
  }
}

function timeOfDay(time: string): string {
  const at = new Date(time)
  if (Number.isNaN(at.getTime())) return time
  return [at.getHours(), at.getMinutes(), at.getSeconds()]
    .map((part) => String(part).padStart(2, '0'))
    .join(':')
}

function describe({ message, code }: z.infer<typeof errorSchema>): string {
  return typeof code === 'string' && !message.includes(code) ? `${message}, ${code}` : message
}

/** The message is in the line above already. */
function callsOf(stack: string): string {
  const calls = stack.split('\n').filter((line) => /^\s+at /.test(line))
  return calls.map((line) => `    ${safe(line.trim())}`).join('\n')
}

function show(value: unknown): string {
  if (typeof value === 'string') return /^[\w.:/@+-]+$/.test(value) ? value : JSON.stringify(value)
  return JSON.stringify(value) ?? 'undefined'
}

/** What providers and users said must not move the cursor or ring the bell. */
function safe(text: string): string {
  return stripVTControlCharacters(text).replace(/\p{Cc}/gu, ' ')
}
