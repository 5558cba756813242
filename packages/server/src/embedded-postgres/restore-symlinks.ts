import { readFileSync, symlinkSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'

interface Link {
  /** What is there, from the package's folder. */
  source: string
  /** The name that is missing. */
  target: string
}

/**
 * npm packages hold no symlinks, so a PostgreSQL build brings a list of them and an install script that makes them.
 * pnpm and careful npm users do not run such scripts, and without the links no library finds the other.
 */
export function restoreSymlinks(home: string): void {
  for (const { source, target } of readLinks(join(home, 'native', 'pg-symlinks.json'))) {
    try {
      symlinkSync(relative(dirname(target), source), join(home, target))
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code === 'EEXIST') continue
      throw new Error(
        `The embedded PostgreSQL in ${home} is not complete, and ${target} cannot be made (${(cause as Error).message}). Let its install script run, make the folder writable, or set DATABASE_URL.`,
        { cause },
      )
    }
  }
}

function readLinks(file: string): Link[] {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch {
    // Builds for systems without versioned libraries have no such list.
    return []
  }
}
