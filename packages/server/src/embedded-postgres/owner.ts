import { link, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { inspectProcess } from './running-process.ts'

/**
 * Marks a data folder as ours while we run, so that a second start neither adopts nor stops a server that
 * somebody is using. The mark of a killed process is void: its pid is gone or belongs to a younger process.
 * Returns what takes the mark away.
 */
export async function claimOwnership(folder: string, pid = process.pid): Promise<() => Promise<void>> {
  const mark = join(folder, 'owner')
  const draft = join(folder, `owner.${pid}`)
  const self = await inspectProcess(pid)
  await writeFile(draft, `${pid}\n${self?.startedAt ?? ''}\n`)
  try {
    for (;;) {
      try {
        // A link appears whole or not at all, and fails when there is one: no reader meets half a mark.
        await link(draft, mark)
        return () => rm(mark, { force: true })
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
      }
      const owner = await readOwner(mark)
      if (!owner) continue
      if ((await inspectProcess(owner.pid))?.startedAt === owner.startedAt) {
        throw new Error(
          `The data in ${folder} is in use by ${owner.pid === pid ? 'this very process' : `process ${owner.pid}`}. Stop that one first, or choose another data folder.`,
        )
      }
      // Renamed, not removed: of two who find the same void mark only one can take it away.
      const voided = join(folder, `owner.void.${pid}`)
      await rename(mark, voided).catch(ignoreMissing)
      await rm(voided, { force: true })
    }
  } finally {
    await rm(draft, { force: true })
  }
}

async function readOwner(mark: string): Promise<{ pid: number; startedAt: string } | null> {
  const text = await readFile(mark, 'utf8').catch(ignoreMissing)
  if (text === undefined) return null
  const [pid, startedAt] = text.split('\n')
  return { pid: Number(pid), startedAt: startedAt ?? '' }
}

function ignoreMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error
}
