import type { Priority } from '@holdfast/shared'

/** Chooses the priority of a new task, where no service key has said it. */
export type ChoosePriority = (task: {
  userId: string
  type: string
  params: Record<string, unknown>
  /** What the token says in `app_metadata.plan`; null if it says nothing. */
  plan: string | null
}) => Priority | Promise<Priority>

/** Plan → priority, where those that are not named have `normal`; or a function. */
export type PriorityByPlan = Readonly<Record<string, Priority>> | ChoosePriority

export function toChoosePriority(byPlan: PriorityByPlan): ChoosePriority {
  if (typeof byPlan === 'function') return byPlan
  const known = new Map(Object.entries(byPlan))
  return ({ plan }) => (plan === null ? undefined : known.get(plan)) ?? 'normal'
}
