import type { Task, TaskOutput } from '@holdfast/shared'
import type { SignUrls } from '../artifacts/signed-urls.ts'
import { type HotStore, NOTHING_HOT } from '../hot/hot-store.ts'
import { raiseProgress } from '../hot/raise-progress.ts'
import { type ArtifactRow, toOutput } from './artifact-row.ts'
import { type TaskRow, toTask } from './task-row.ts'

/**
 * Turns rows into what users see. One for a server: it knows where files are kept and how their URLs are made, and how
 * far running tasks are.
 */
export interface Presenter {
  /** @param hot what `hot` answered, if it was asked already */
  tasks(rows: readonly TaskRow[], hot?: ReadonlyMap<string, number>): Promise<Task[]>
  /** How far a user's running tasks are, beyond what the database knows: task id → progress. */
  hot(userId: string): Promise<ReadonlyMap<string, number>>
  /** The files of several messages. */
  outputs(files: readonly (readonly ArtifactRow[])[]): Promise<TaskOutput[][]>
}

/** All URLs of one call are signed together. */
export function createPresenter(signUrls: SignUrls | null, hot: HotStore | null = null): Presenter {
  async function outputs(files: readonly (readonly ArtifactRow[])[]): Promise<TaskOutput[][]> {
    const keys = files.flat().flatMap(({ state, objectKey }) => (state === 'stored' && objectKey) || [])
    const signed = signUrls && keys.length > 0 ? await signUrls(keys) : null
    return files.map((own) => own.map((row) => toOutput(row, signed?.get(row.objectKey ?? ''))))
  }

  const readHot = async (userId: string) => (hot ? hot.read(userId) : NOTHING_HOT)

  /** Of all whose tasks run; that is one user, as a rule. */
  async function progressOf(rows: readonly TaskRow[]): Promise<ReadonlyMap<string, number>> {
    const users = new Set(rows.filter(({ status }) => status === 'running').map(({ userId }) => userId))
    const known = await Promise.all([...users].map(readHot))
    return known.length === 1 ? (known[0] ?? NOTHING_HOT) : new Map(known.flatMap((one) => [...one]))
  }

  return {
    outputs,
    hot: readHot,
    async tasks(rows, known) {
      const [progress, shown] = await Promise.all([
        known ?? progressOf(rows),
        outputs(rows.map((row) => row.outputs ?? [])),
      ])
      return rows.map((row, index) =>
        toTask(raiseProgress(row, progress), row.outputs && (shown[index] ?? [])),
      )
    },
  }
}

/** For those who look at a task and show it to nobody: stored files have no URLs. */
export const withoutUrls: Presenter = createPresenter(null)
