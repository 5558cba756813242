import type { UseStore } from 'idb-keyval'
import type { Scope } from '../accounts/scope.ts'
import { openIdbStore } from '../cache/idb-store.ts'
import { browserEnvironment } from '../environment/environment.ts'
import type { Records } from './panel-model.ts'
import { readRecords } from './read-records.ts'

/** Reads what is on disk anew each time it is told to, one reading at a time. */
export function watchRecords(onChange: () => void) {
  const { clock, indexedDB, localStorage } = browserEnvironment()
  let records: Records = { rows: null, problem: null }
  let opened: { name: string; disk: UseStore } | undefined
  let reading = false
  let shown = ''

  function diskOf(name: string): UseStore | null {
    if (!indexedDB) return null
    if (opened?.name !== name) opened = { name, disk: openIdbStore(indexedDB, name, clock) }
    return opened.disk
  }

  return {
    current: () => records,
    async read(scope: Scope | null, isDurable: boolean) {
      if (reading) return
      reading = true
      try {
        // Opening a database makes it: where the client keeps none, there shall be none.
        const rows = scope ? await readRecords(isDurable ? diskOf(scope.app) : null, localStorage, scope) : []
        // The same values keep their identity, so that nothing is drawn anew.
        const now = JSON.stringify(rows)
        if (now !== shown) records = { rows, problem: null }
        shown = now
      } catch (error) {
        records = { rows: null, problem: `They cannot be read: ${(error as Error).message || error}` }
      }
      reading = false
      onChange()
    },
  }
}
