import { posix } from 'node:path'

interface LeftOut {
  why: string
  /** Globs of files under `packages/server/src`. */
  files: readonly string[]
}

/** What the crash proof does not cover. Everything else is covered, so that a new or moved file is covered by itself. */
const LEFT_OUT: readonly LeftOut[] = [
  { why: 'Tests.', files: ['**/*.test.ts'] },
  {
    why: 'Simulators of vendors: they stand for the world outside, which does not die with the server.',
    files: ['providers/*/simulator/**', 'providers/simulation/**', 'simulators.ts'],
  },
  {
    why: 'What a person types: reads arguments and puts together parts that are covered. The cases put them together themselves, in server-process.ts.',
    files: ['cli/**', 'main.ts'],
  },
  {
    why: 'A PostgreSQL, a login and a page for development, which production does not run.',
    files: ['embedded-postgres/**', 'auth/dev-login.ts', 'routes/dev-login.ts', 'routes/studio.ts'],
  },
  {
    why: 'Runs before a server does, under a lock. Each migration is one transaction and can be run again; tests show it.',
    files: ['database/migrate.ts'],
  },
  {
    why: 'Vendors other than KIE: they only turn a request into one HTTP call and its answer into an outcome. What is written before and after that call is the same for every vendor, and KIE stands for all.',
    files: [
      'providers/fal/**',
      'providers/http-api/**',
      'providers/luma-agents/**',
      'providers/luma-dream-machine/**',
      'providers/openai-videos/**',
      'providers/replicate/**',
      'providers/runway/**',
      'providers/webhook-signatures/**',
    ],
  },
]

const GLOBS = LEFT_OUT.flatMap(({ files }) => files)

/** Whether the crash proof covers this file, named from `packages/server/src`. */
export function isCovered(file: string): boolean {
  return !GLOBS.some((glob) => posix.matchesGlob(file, glob))
}

/** Globs that no longer leave anything out. */
export function findIdleGlobs(files: readonly string[]): string[] {
  return GLOBS.filter((glob) => !files.some((file) => posix.matchesGlob(file, glob)))
}
