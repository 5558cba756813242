import type { TaskOutput, TaskTypesOf } from '@holdfast/shared'
import { z } from 'zod'
import { defineTaskType } from '../src/tasks/define-task-type.ts'

/** The task types of an app, as its server has them. */
export const types = {
  portrait: defineTaskType({
    provider: 'kie',
    params: z.object({ prompt: z.string(), steps: z.int().default(20) }),
    deadlineMs: 600_000,
    expectedMs: 20_000,
  }),
  film: defineTaskType({
    provider: 'kie',
    params: z.object({ scene: z.string(), seconds: z.number() }),
    result: z.object({ outputs: z.tuple([z.custom<TaskOutput>()]) }),
    deadlineMs: 1_800_000,
    expectedMs: 60_000,
  }),
}

/** What its browser side imports, as a type. */
export type AppTasks = TaskTypesOf<typeof types>
