import { z } from 'zod'
import type { Usage } from '../providers/provider.ts'
import { defineTaskType } from './define-task-type.ts'

/** A kind of generation that users may ask for. */
export interface TaskType {
  /** Name of the provider that does it. */
  provider: string
  /** What `params` must look like, without `model`. The provider gets nothing that this does not let through. */
  params: z.ZodType<Record<string, unknown>>
  /**
   * The models that `params.model` may choose from; the first is taken where it names none. They all cost the same, unless
   * `credits` looks at `model`. @default nobody chooses: the model is the one that the provider has for the type
   */
  models?: readonly string[]
  /** How long it may run, from acceptance. @default 10 min for `image`, 30 min otherwise (F6) */
  deadlineMs: number
  /** How much longer than that a service key may let one run. @default `deadlineMs`: no longer */
  maxDeadlineMs?: number
  /** How long it usually takes: the estimate shown to users. */
  expectedMs: number
  /** How often to poll while somebody watches. The provider's own minimum still holds. */
  watchedPollMs: number
  /** How long it may wait to be taken by the provider. @default 30 min */
  waitLimitMs?: number
  /** After how long without any word of a running task the watchdog steps in. @default 2 h */
  silentAfterMs?: number
  /** What the watchdog then does, after an alert and a last poll. @default 'fail' */
  whenSilent?: 'fail' | 'keep'
  /**
   * What one costs, where credits are switched on: a whole number. A function is asked with the parameters when it is
   * submitted, which is put aside, and again with the `usage` that the provider reports, which is what it costs.
   * @default 0
   */
  credits?: Price
  /** Whether a price that is computed may be 0. Otherwise such a request is refused. @default false */
  allowFree?: boolean
  /** Whether one may cost more than was put aside, as far as the user's balance goes. @default false */
  allowOverrun?: boolean
  /**
   * What becomes of the credits of one that its user cancels. Some vendors bill at submission, so what was started is
   * not given back unless you say so. @default 'refund-before-start'
   */
  onCancel?: CancelPolicy
  /** How large the parameters of one may be, as JSON. The whole request may have 256 kB. @default 64 kB */
  maxParamsBytes?: number
}

/**
 * @example
 * // With `params: z.object({ seconds: z.int().min(1).max(60) })`, so that there is always a price:
 * ({ seconds }, usage) => 2 * Number(usage?.seconds ?? seconds)
 */
export type Price = number | ((params: Record<string, unknown>, usage?: Usage) => number)

/**
 * - `refund`: all comes back.
 * - `capture`: nothing does.
 * - `refund-before-start`: all comes back until the provider has accepted the task, nothing afterwards. While it is being
 *   sent the credits stay put aside, and the provider's reply decides.
 */
export type CancelPolicy = 'refund' | 'capture' | 'refund-before-start'

/** Waiting in a lane does not count against the deadline, so it has a limit of its own. */
export function waitLimitOf(type: TaskType | undefined): number {
  return type?.waitLimitMs ?? 30 * MINUTE
}

export function silentAfterOf(type: TaskType | undefined): number {
  return type?.silentAfterMs ?? 120 * MINUTE
}

export function maxParamsBytesOf(type: TaskType): number {
  return type.maxParamsBytes ?? 64 * 1024
}

export type TaskTypes = Record<string, TaskType>

const MINUTE = 60_000
const prompt = z.string().trim().min(1).max(4000)
const aspectRatio = z.enum(['1:1', '16:9', '9:16', '4:3', '3:4']).optional()

/** `image` and `video`, each with a prompt and a shape. Other parameters are refused: they could change what it costs. */
export const defaultTaskTypes = {
  image: defineTaskType({
    provider: 'kie',
    params: z.strictObject({ prompt, aspect_ratio: aspectRatio }),
    deadlineMs: 10 * MINUTE,
    expectedMs: 10_000,
    watchedPollMs: 2_000,
  }),
  video: defineTaskType({
    provider: 'kie',
    params: z.strictObject({ prompt, aspect_ratio: aspectRatio }),
    deadlineMs: 30 * MINUTE,
    expectedMs: 30_000,
    watchedPollMs: 5_000,
  }),
}
