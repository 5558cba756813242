/** Longer ones are carried by `GET /v1/tasks/:id` only. */
const CARRIED_BYTES = 4_096
/** With the metadata, which is always carried and has up to 4 kB: so 200 tasks of a list stay below 1.5 MB. */
const TOGETHER_BYTES = 5_600
/** Room for a prompt of that many letters of any script, and the settings beside it. */
const SHORTENED_BYTES = 1_600
export const SHORTENED_LETTERS = 500

type Params = Record<string, unknown>

export function bytesOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value) ?? '')
}

/** What lists carry of a task's parameters; null if that is all of them. */
export function shownParams(params: Params, metadata: Params): Params | null {
  const bytes = bytesOf(params)
  if (bytes <= CARRIED_BYTES && bytes + bytesOf(metadata) <= TOGETHER_BYTES) return null
  const entries = Object.entries(params).map(([name, value]) => [name, shorten(value)] as const)
  const kept = new Map<string, unknown>()
  let room = SHORTENED_BYTES
  // The small ones first: of many settings and one long text, all settings stay and the text gets the rest.
  for (const [name, value] of entries.toSorted((one, other) => bytesOf(one) - bytesOf(other))) {
    const rest = room - bytesOf(name) - 2
    const fitting = bytesOf(value) <= rest ? value : fit(value, rest)
    if (fitting === undefined) continue
    kept.set(name, fitting)
    room = rest - bytesOf(fitting)
  }
  return Object.fromEntries(entries.flatMap(([name]) => (kept.has(name) ? [[name, kept.get(name)]] : [])))
}

function shorten(value: unknown): unknown {
  if (typeof value === 'string') return cut(value, SHORTENED_LETTERS)
  if (Array.isArray(value)) return value.map(shorten)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, shorten(item)]))
}

/** As much of a text as there is room for; of anything else, nothing: half a list would be another list. */
function fit(value: unknown, bytes: number): string | undefined {
  if (typeof value !== 'string') return undefined
  let letters = value.length
  while (letters > 0 && bytesOf(cut(value, letters)) > bytes) letters = Math.floor(letters * 0.8)
  return letters > 0 ? cut(value, letters) : undefined
}

/** Never through the middle of a character that takes two. */
function cut(text: string, letters: number): string {
  const short = text.slice(0, letters)
  return short.isWellFormed() ? short : short.slice(0, -1)
}
