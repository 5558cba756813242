/** In the order of the table. Every contender does the same life: created, sent, polled, settled, file stored. */
export const CONTENDERS = ['now', 'before', 'pg-boss', 'bullmq', 'bare'] as const
export type ContenderName = (typeof CONTENDERS)[number]

/** The release that `before` is. */
export const BEFORE_COMMIT = 'ec32677'

/** What a feature on top of the plain life costs. */
export const EXTRAS = ['credits', 'conversation', 'onSettled'] as const
export type Extra = (typeof EXTRAS)[number]

export const USERS = 500
export const CALLERS = 64

/** A generation takes between these two at the vendor. The bare process and the peers poll first when all are done. */
export const VENDOR_MS = { from: 1_800, to: 2_000 }
export const FIRST_POLL_MS = 2_000
export const NEXT_POLL_MS = 500

/** What the vendor allows, the same for everybody. */
export const IN_FLIGHT = { create: 200, query: 100 }

/** What a contender's process is told. */
export interface ContenderSettings {
  databaseUrl: string
  vendorUrl: string
  /** Where it stores files. */
  folder: string
  /** The contender `bullmq` alone uses it. */
  redisPort: number
  /** Of the Holdfast to load: this tree or the one before. */
  root: string
  /** Polls often and plans at once, so that durations are known after one short wave. */
  learning: boolean
  extra: Extra | null
  /** No user is told that they ask for too much. @default as Holdfast comes */
  uncapped?: boolean
}
