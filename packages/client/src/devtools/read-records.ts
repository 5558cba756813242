import type { UseStore } from 'idb-keyval'
import type { Scope } from '../accounts/scope.ts'

export interface RecordRow {
  key: string
  where: 'IndexedDB' | 'localStorage'
  about: string
  bytes: number
  value: unknown
}

const ABOUT: Record<string, string | undefined> = {
  tasks: 'What the next visit paints first',
  outbox: 'What is not sent yet',
  inbox: 'Which ended tasks the app’s handlers are done with',
  lease: 'Who leads',
  mine: 'Which tasks this browser made',
  browser: 'The name of this browser',
}

const about = (key: string) => ABOUT[key.slice(key.lastIndexOf(':') + 1)] ?? ''
const bytesOf = (value: unknown) => new TextEncoder().encode(JSON.stringify(value) ?? '').length

/** What is on disk for this user. Only read, never changed. */
export async function readRecords(
  disk: UseStore | null,
  items: Pick<Storage, 'getItem'> | null,
  scope: Scope,
): Promise<RecordRow[]> {
  const isOurs = (key: string) => key.startsWith(`${scope.user}:`)
  const kept = disk ? await readAll(disk, isOurs) : []
  const rows: RecordRow[] = kept.map(([key, value]) => ({
    key,
    where: 'IndexedDB',
    about: about(key),
    bytes: bytesOf(value),
    value,
  }))
  const names = ['lease', 'mine', 'tasks'].map((name) => `${scope.user}:${name}`)
  for (const key of [...names, `${scope.app}:browser`]) {
    const text = items?.getItem(key) ?? null
    if (text === null) continue
    rows.push({ key, where: 'localStorage', about: about(key), bytes: text.length, value: parsed(text) })
  }
  return rows
}

function readAll(disk: UseStore, isOurs: (key: string) => boolean): Promise<[string, unknown][]> {
  return disk(
    'readonly',
    (records) =>
      new Promise((resolve, reject) => {
        const found: [string, unknown][] = []
        const request = records.openCursor()
        request.onerror = () => reject(request.error)
        request.onsuccess = () => {
          const cursor = request.result
          if (!cursor) return resolve(found)
          const key = String(cursor.key)
          if (isOurs(key)) found.push([key, cursor.value])
          cursor.continue()
        }
      }),
  )
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
