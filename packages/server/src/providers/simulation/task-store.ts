import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'

/** Older tasks are forgotten at the next start. */
const KEPT_MS = 14 * 24 * 60 * 60 * 1000

interface Storable {
  taskId: string
  createdAt: number
}

interface StoredState<Task> {
  version: 2
  creates: number
  tasks: Task[]
}

export interface TaskStore<Task extends Storable> {
  get(taskId: string): Task | undefined
  all(): Iterable<Task>
  /** How many tasks were ever accepted, over restarts. */
  creates(): number
  /** Resolves once a restart would find the task. */
  add(task: Task): Promise<void>
  /** Resolves once everything up to this call is in the file. */
  flush(): Promise<void>
}

/** Tasks in memory, and in `file` if there is one. */
export async function openTaskStore<Task extends Storable>(
  file: string | undefined,
  now: () => number,
  log: (line: string) => void,
): Promise<TaskStore<Task>> {
  const stored = file ? await readState<Task>(file, log) : null
  const tasks = new Map(
    (stored?.tasks ?? [])
      .filter((task) => now() - task.createdAt < KEPT_MS)
      .map((task) => [task.taskId, task] as const),
  )
  let creates = stored?.creates ?? 0

  const write = async (path: string) => {
    const state: StoredState<Task> = { version: 2, creates, tasks: [...tasks.values()] }
    await mkdir(dirname(path), { recursive: true })
    // Renamed into place, so that a kill in the middle leaves the old file whole.
    await writeFile(`${path}.new`, JSON.stringify(state))
    await rename(`${path}.new`, path)
  }

  // One write at a time; all who ask during one share the next.
  let current: Promise<void> | null = null
  let next: Promise<void> | null = null
  const flush = (): Promise<void> => {
    if (!file) return Promise.resolve()
    if (!current) {
      current = write(file).finally(() => {
        current = null
      })
      return current
    }
    next ??= current
      .catch(() => undefined)
      .then(() => {
        next = null
        return flush()
      })
    return next
  }

  return {
    get: (taskId) => tasks.get(taskId),
    all: () => tasks.values(),
    creates: () => creates,
    async add(task) {
      tasks.set(task.taskId, task)
      creates++
      await flush()
    },
    flush,
  }
}

async function readState<Task>(file: string, log: (line: string) => void): Promise<StoredState<Task> | null> {
  try {
    const state = JSON.parse(await readFile(file, 'utf8')) as StoredState<Task>
    if (state.version === 2 && Array.isArray(state.tasks)) return state
    log(`${file} is not a state of this simulator; starting without it`)
  } catch (error) {
    const isMissing = error instanceof Error && 'code' in error && error.code === 'ENOENT'
    if (!isMissing) log(`${file} cannot be read; starting without it`)
  }
  return null
}
