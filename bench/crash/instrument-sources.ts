import { readdir, readFile } from 'node:fs/promises'
import { stripTypeScriptTypes } from 'node:module'
import { relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseAst } from 'vitest/node'
import { isCovered } from './left-out.ts'

/** One `await` of the product. */
export interface Point {
  /** Such as `work/send/run-send.ts:61`; with a column where a line has several. */
  id: string
  /** The line it is on. */
  text: string
}

interface Instrumented {
  /** All files of the server, covered or not. */
  files: string[]
  points: Point[]
  /** File URL → JavaScript with the calls put in. */
  sources: Record<string, string>
}

const SOURCE = new URL('../../packages/server/src/', import.meta.url)

/** Finds every `await` of the server but those in `left-out.ts` and puts calls around it, for `preload.ts` to answer. */
export async function instrumentSources(): Promise<Instrumented> {
  const folder = fileURLToPath(SOURCE)
  const files = (await readdir(folder, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => relative(folder, `${entry.parentPath}${sep}${entry.name}`).replaceAll(sep, '/'))
    .sort()

  const points: Point[] = []
  const sources: Record<string, string> = {}
  for (const name of files.filter(isCovered)) {
    const url = new URL(name, SOURCE)
    const instrumented = instrument(name, await readFile(url, 'utf8'))
    if (instrumented.points.length === 0) continue
    points.push(...instrumented.points)
    sources[url.href] = instrumented.source
  }
  return { files, points, sources }
}

/** `await X` becomes `__crash.after(id, await __crash.during(id, (__crash.before(id), (X))))`. */
export function instrument(name: string, typescript: string): { points: Point[]; source: string } {
  // Types become blanks, so that every position stays what it was.
  const source = stripTypeScriptTypes(typescript)
  const awaits = findAwaits(parseAst(source))
  const lines = typescript.split('\n')
  const lineOf = (position: number) => source.slice(0, position).split('\n').length
  const perLine = Map.groupBy(awaits, ({ start }) => lineOf(start))

  const points: Point[] = []
  const insertions: { at: number; text: string }[] = []
  for (const { start, end } of awaits) {
    const line = lineOf(start)
    const column = start - source.lastIndexOf('\n', start - 1)
    const id = `${name}:${line}${(perLine.get(line)?.length ?? 0) > 1 ? `:${column}` : ''}`
    const key = JSON.stringify(id)
    points.push({ id, text: lines[line - 1]?.trim() ?? '' })
    insertions.push(
      { at: start, text: `__crash.after(${key}, ` },
      { at: start + 'await'.length, text: ` __crash.during(${key}, (__crash.before(${key}), (` },
      { at: end, text: '))))' },
    )
  }

  let result = ''
  let from = 0
  for (const { at, text } of insertions.toSorted((a, b) => a.at - b.at)) {
    result += source.slice(from, at) + text
    from = at
  }
  result += source.slice(from)
  parseAst(result)
  return { points, source: result }
}

function findAwaits(node: unknown, found: { start: number; end: number }[] = []) {
  if (Array.isArray(node)) for (const item of node) findAwaits(item, found)
  else if (typeof node === 'object' && node !== null) {
    if (isAwait(node)) found.push({ start: node.start, end: node.end })
    for (const child of Object.values(node)) findAwaits(child, found)
  }
  return found.sort((a, b) => a.start - b.start)
}

function isAwait(node: object): node is { start: number; end: number } {
  return 'type' in node && node.type === 'AwaitExpression' && 'start' in node && 'end' in node
}
