/** Copies what the server package carries from elsewhere in the repository: the schema and the built studio. */
import { cpSync, rmSync } from 'node:fs'
import { basename, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { ensureInstalled, ensureStudioBuilt, root } from './bootstrap.mjs'

const COPIES = [
  ['supabase/migrations', 'packages/server/schema/migrations'],
  ['supabase/rollback', 'packages/server/schema/rollback'],
  ['examples/studio/dist', 'packages/server/studio'],
]

export function preparePackage() {
  for (const [from, to] of COPIES) {
    rmSync(join(root, to), { recursive: true, force: true })
    cpSync(join(root, from), join(root, to), {
      recursive: true,
      filter: (path) => basename(path) !== '.holdfast-built',
    })
  }
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  await ensureInstalled()
  await ensureStudioBuilt()
  preparePackage()
}
