import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { BEFORE_COMMIT } from './settings.ts'

const run = promisify(execFile)
const INSTALL = "import('./scripts/bootstrap.mjs').then(({ ensureInstalled }) => ensureInstalled())"

export interface Before {
  root: string
  remove(): Promise<void>
}

/**
 * The release before, in a work tree of its own with its own dependencies, which its own `scripts/bootstrap.mjs`
 * installs. Null, and says why, where its commit is not in this clone.
 */
export async function checkOutBefore(here: string, say: (line: string) => void): Promise<Before | null> {
  const git = (...args: string[]) => run('git', ['-C', here, ...args])
  const isThere = await git('cat-file', '-e', `${BEFORE_COMMIT}^{commit}`).then(
    () => true,
    () => false,
  )
  if (!isThere) {
    say(
      `Commit ${BEFORE_COMMIT} is not in this clone, so "before" is left out and ofBefore is null. To have it, clone with the whole history, or: git fetch --unshallow`,
    )
    return null
  }
  const parent = await mkdtemp(join(tmpdir(), 'holdfast-bench-before-'))
  const root = join(parent, 'tree')
  async function remove(): Promise<void> {
    await rm(parent, { recursive: true, force: true })
    await git('worktree', 'prune')
  }
  try {
    await git('worktree', 'add', '--detach', root, BEFORE_COMMIT)
    say(`Installing the dependencies of ${BEFORE_COMMIT} …`)
    await run(process.execPath, ['--input-type=module', '-e', INSTALL], {
      cwd: root,
      maxBuffer: 64 * 1024 ** 2,
    })
    return { root, remove }
  } catch (error) {
    await remove()
    throw new Error(
      `The release before (${BEFORE_COMMIT}) could not be installed. Check the network connection, or leave it out: --only now,pg-boss,bullmq,bare`,
      { cause: error },
    )
  }
}
