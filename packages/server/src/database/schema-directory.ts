import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** In the published package the schema is copied beside `dist`; in the repository it is where Supabase's CLI looks. */
export function schemaDirectory(): string {
  const packaged = new URL('../../schema/', import.meta.url)
  const repository = new URL('../../../../supabase/', import.meta.url)
  return fileURLToPath(existsSync(repository) ? repository : packaged)
}
