import type { Vocabulary } from './behaviours.ts'
import type { Answer } from './reply.ts'
import { createResultFiles } from './result-files.ts'
import { sendMedia } from './send-media.ts'
import { endOf, type SimulatedTask, stateAt } from './simulated-task.ts'

export interface SimulatedMediaOptions {
  now: () => number
  /** Without a slash at the end. */
  publicUrl: () => string
  /** How long after the end of a task its URLs work. */
  ttlMs: () => number
  vocabulary: () => Vocabulary
}

const FILE_PATH = /^\/files\/([^/]+)\/(\d)\.(png|mp4)$/

/** The files of finished tasks, under URLs that expire. */
export function createSimulatedMedia({ now, publicUrl, ttlMs, vocabulary }: SimulatedMediaOptions) {
  const files = createResultFiles()
  const nameOf = (task: SimulatedTask, index: number) => `${index}.${task.makesVideo ? 'mp4' : 'png'}`
  const read = (task: SimulatedTask, index: number) =>
    files.read({ ...task, prompt: vocabulary().strip(task.prompt) }, index)

  const file =
    (task: SimulatedTask, index: number, leftMs: number): Answer =>
    (response) => {
      const fetches = (task.fetches[index] ?? 0) + 1
      task.fetches[index] = fetches
      const { behaviours } = task
      return sendMedia(response.req, response, { behaviours, fetches, leftMs, read: () => read(task, index) })
    }

  return {
    file,
    read,
    urlsOf(task: SimulatedTask, expires = (endOf(task) ?? now()) + ttlMs()): string[] {
      const query = `?expires=${Math.floor(expires)}`
      return Array.from(
        { length: task.outputs },
        (_, index) => `${publicUrl()}/files/${task.taskId}/${nameOf(task, index)}${query}`,
      )
    },
    /** Null if the URL is not that of a file. */
    answer(url: URL, taskOf: (taskId: string) => SimulatedTask | undefined): Answer | null {
      const [, taskId, digit] = FILE_PATH.exec(url.pathname) ?? []
      if (taskId === undefined) return null
      const task = taskOf(taskId)
      const index = Number(digit)
      const isThere =
        task &&
        index < task.outputs &&
        url.pathname.endsWith(`/${nameOf(task, index)}`) &&
        stateAt(task, now()).phase === 'succeeded'
      return isThere
        ? file(task, index, Number(url.searchParams.get('expires') ?? 0) - now())
        : { status: 404 }
    },
    close: () => files.close(),
  }
}
