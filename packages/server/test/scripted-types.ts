import { z } from 'zod'
import type { TaskType, TaskTypes } from '../src/tasks/task-types.ts'

/** One task type, `image`, that polls as fast as it can. */
export function scriptedTypes(provider: string, changes: Partial<TaskType> = {}): TaskTypes {
  return {
    image: {
      provider,
      params: z.looseObject({ prompt: z.string().min(1) }),
      deadlineMs: 600_000,
      expectedMs: 10_000,
      watchedPollMs: 1,
      ...changes,
    },
  }
}
