import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

const TEST = /\.test\.tsx?$/
const IMPORTED = /from '([^']+)'/g

/** The test files below these folders that hold properties, themselves or in what they import from a `test` folder. */
export function findPropertyFiles(folders: readonly string[]): string[] {
  const known = new Map<string, boolean>()

  function holdsProperties(file: string): boolean {
    const before = known.get(file)
    if (before !== undefined) return before
    // Known as "no" while we look, so that files which import each other come to an end.
    known.set(file, false)
    const imported = [...readFileSync(file, 'utf8').matchAll(IMPORTED)].map(([, name = '']) => name)
    const holds =
      imported.includes('fast-check') ||
      imported
        .filter((name) => name.startsWith('.'))
        .map((name) => join(dirname(file), name))
        .filter((path) => path.includes('/test/') && path.endsWith('.ts'))
        .some(holdsProperties)
    known.set(file, holds)
    return holds
  }

  return folders
    .flatMap((folder) =>
      readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name)),
    )
    .filter((file) => TEST.test(file) && !file.includes('node_modules'))
    .filter(holdsProperties)
    .sort()
}
