import { z } from 'zod'
import { TASK_STATUSES } from './status.ts'
import { LANES, PRIORITIES } from './task.ts'

/**
 * What clients may send, checked. Kept apart from the types so that a browser bundle carries no zod.
 */

const id = z.uuid()
const priorities = Object.keys(PRIORITIES) as [keyof typeof PRIORITIES, ...(keyof typeof PRIORITIES)[]]
/** PostgreSQL's text and jsonb cannot hold U+0000; saying so beats a failing insert. */
const withoutNul = (value: string) => !value.includes('\u0000')

const conversationTitle = z.string().trim().min(1).max(200).refine(withoutNul, 'must not contain U+0000')

const taskFields = z.strictObject({
  type: z.string().min(1).max(100),
  params: z.record(z.string(), z.json()),
  conversationId: id.nullish(),
  /** Instead of `conversationId`: the server makes the conversation with the task, if the user has none of that id. */
  conversation: z.strictObject({ id, title: conversationTitle }).optional(),
  placeholderId: z.string().min(1).max(200).refine(withoutNul, 'must not contain U+0000').nullish(),
  /** For service keys only, as are `plan`, `maxAttempts` and `deadlineMs`. */
  priority: z.enum(priorities).optional(),
  /** What the user pays for, as a token would say. */
  plan: z.string().min(1).max(100).refine(withoutNul, 'must not contain U+0000').optional(),
  metadata: z.record(z.string(), z.json()).optional(),
  /** How often a refused submit is tried before it is given up. */
  maxAttempts: z.int().min(1).max(20).optional(),
  /** How long it may run, counted from when the provider takes it; within what its type allows. */
  deadlineMs: z
    .int()
    .min(1_000)
    .max(24 * 60 * 60_000)
    .optional(),
  /**
   * A job that the app has started at this provider itself: with its `externalId` it is polled, copied and restored
   * like any other. For service keys only.
   */
  provider: z.string().min(1).max(100).optional(),
  /** The provider's own id of that job. */
  externalId: z.string().min(1).max(200).refine(withoutNul, 'must not contain U+0000').optional(),
  /** When that job was started. @default now */
  startedAt: z.iso.datetime({ offset: true }).optional(),
})

export const createTaskBody = taskFields.refine(
  ({ conversationId, conversation }) =>
    !conversation || (conversationId ?? conversation.id) === conversation.id,
  { path: ['conversationId'], message: 'must be the id of `conversation`, or be left out' },
)
export type CreateTaskBody = z.infer<typeof createTaskBody>

const listedStatus = z.enum(['active', 'settled', 'all', ...TASK_STATUSES])
export type ListedStatus = z.infer<typeof listedStatus>

export const listTasksQuery = z.object({
  /** One, or several with commas between them. @default 'active', or 'all' with an external id */
  status: z
    .string()
    .transform((text) => text.split(','))
    .pipe(z.array(listedStatus).max(20))
    .optional(),
  type: z.string().min(1).max(100).refine(withoutNul, 'must not contain U+0000').optional(),
  conversationId: id.optional(),
  /** The provider's own id of the task. */
  externalId: z.string().min(1).max(200).refine(withoutNul, 'must not contain U+0000').optional(),
  cursor: z.string().max(200).optional(),
  limit: z.coerce.number().int().min(1).max(200).default(50),
})

export const listMessagesQuery = z.object({
  cursor: z.string().max(200).optional(),
  limit: z.coerce.number().int().min(1).max(200).default(100),
})

export const deadLettersQuery = z.object({ cursor: id.optional() })

export const creditsQuery = z.object({
  cursor: id.optional(),
  limit: z.coerce.number().int().min(1).max(200).default(50),
})

const creditReason = z.string().trim().min(1).max(500).refine(withoutNul, 'must not contain U+0000')

export const creditRefundBody = z.strictObject({ taskId: id, reason: creditReason })

export const creditGrantBody = z.strictObject({
  userId: z.string().min(1).max(500).refine(withoutNul, 'must not contain U+0000'),
  amount: z.int().min(1).max(1_000_000_000),
  reason: creditReason,
})

export const creditAuditQuery = z.object({
  userId: z.string().min(1).max(500).refine(withoutNul, 'must not contain U+0000').optional(),
  taskId: id.optional(),
  cursor: id.optional(),
  limit: z.coerce.number().int().min(1).max(200).default(100),
})

export const syncBody = z.strictObject({
  /** Task id → [version, progress] of what the caller holds. */
  known: z
    .record(id, z.tuple([z.int().min(0), z.number().min(0).max(100).nullable()]))
    .refine((known) => Object.keys(known).length <= 2000, 'at most 2000 tasks')
    .default({}),
  cursor: z.string().max(200).optional(),
})

export const createConversationBody = z.strictObject({
  id: id.optional(),
  title: conversationTitle,
})

export const devLoginBody = z.strictObject({
  user: z.string().trim().min(1).max(100).refine(withoutNul, 'must not contain U+0000'),
})

/** The user that an app's own backend acts for. */
export const actingForUser = z.string().min(1).max(200).refine(withoutNul, 'must not contain U+0000')

export const lane = z.enum(LANES)
export const taskId = id
