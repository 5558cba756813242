import type { Task, TaskOutput } from '@holdfast/shared'
import type { SignUrls } from '../artifacts/signed-urls.ts'
import { type ArtifactRow, toOutput } from './artifact-row.ts'
import { type TaskRow, toTask } from './task-row.ts'

/** Turns rows into what users see. One for a server: it knows where files are kept and how their URLs are made. */
export interface Presenter {
  tasks(rows: readonly TaskRow[]): Promise<Task[]>
  /** The files of several messages. */
  outputs(files: readonly (readonly ArtifactRow[])[]): Promise<TaskOutput[][]>
}

/** All URLs of one call are signed together. */
export function createPresenter(signUrls: SignUrls | null): Presenter {
  async function outputs(files: readonly (readonly ArtifactRow[])[]): Promise<TaskOutput[][]> {
    const keys = files.flat().flatMap(({ state, objectKey }) => (state === 'stored' && objectKey) || [])
    const signed = signUrls && keys.length > 0 ? await signUrls(keys) : null
    return files.map((own) => own.map((row) => toOutput(row, signed?.get(row.objectKey ?? ''))))
  }

  return {
    outputs,
    async tasks(rows) {
      const shown = await outputs(rows.map((row) => row.outputs ?? []))
      return rows.map((row, index) => toTask(row, row.outputs && (shown[index] ?? [])))
    },
  }
}

/** For those who look at a task and show it to nobody: stored files have no URLs. */
export const withoutUrls: Presenter = createPresenter(null)
