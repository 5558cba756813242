/** How long the files of a finished task are kept (O5), in milliseconds. Asked when the task is made. */
export type KeepResults = (task: {
  userId: string
  type: string
  /** What the token says in `app_metadata.plan`; null if it says nothing. */
  plan: string | null
}) => number | Promise<number>

const DAY_MS = 24 * 60 * 60_000

/** Where nothing else is said. */
export const DEFAULT_KEEP_MS = 3 * DAY_MS

/** Three days, or thirty for whoever pays: any plan but `free`. */
export const keepByPlan: KeepResults = ({ plan }) => (plan === null || plan === 'free' ? 3 : 30) * DAY_MS
