import { LANES, type Lane } from '@holdfast/shared'
import type { TaskTypes } from './task-types.ts'

/** The lane of a plan's tasks, or one for short ones and one for long ones. */
export type PlanLanes = Lane | { short: Lane; long: Lane }

/** Plan → lanes. The tasks of plans that are not named, and of users without one, go to `free_default`. */
export type RouteByPlan = Readonly<Record<string, PlanLanes>>

/** A task that usually takes longer than this is a long one. */
const LONG_FROM_MS = 20_000

const PAID: PlanLanes = { short: 'vip_short', long: 'vip_long' }

/**
 * The lane of a new task, by its user's plan and by how long its type usually takes.
 *
 * @param byPlan where it is not given: `enterprise` has its own lane, `free` has none, and every other plan has two
 */
export function routeByPlan(
  { type, plan }: { type: string; plan: string | null },
  types: TaskTypes,
  byPlan?: RouteByPlan,
): Lane {
  const lanes = lanesOf(plan, byPlan)
  if (typeof lanes === 'string') return lanes
  return (types[type]?.expectedMs ?? 0) > LONG_FROM_MS ? lanes.long : lanes.short
}

function lanesOf(plan: string | null, byPlan: RouteByPlan | undefined): PlanLanes {
  if (plan === null) return 'free_default'
  // A plan is a word of a token, which may be the name of anything.
  if (byPlan) return new Map(Object.entries(byPlan)).get(plan) ?? 'free_default'
  if (plan === 'free') return 'free_default'
  return plan === 'enterprise' ? 'enterprise_exclusive' : PAID
}

/** Reads `enterprise=enterprise_exclusive,pro=vip_short/vip_long`. Throws what the operator has to correct. */
export function parseRouteByPlan(text: string): RouteByPlan {
  return Object.fromEntries(
    text.split(',').map((entry) => {
      const [plan = '', lanes = '', ...rest] = entry.split('=').map((part) => part.trim())
      const [short = '', long = short, ...more] = lanes.split('/').map((part) => part.trim())
      if (plan === '' || rest.length > 0 || more.length > 0 || !isLane(short) || !isLane(long)) {
        throw new Error(
          `"${entry.trim()}" is not a plan with its lanes, such as pro=vip_short/vip_long; the lanes are ${LANES.join(', ')}.`,
        )
      }
      return [plan, short === long ? short : { short, long }]
    }),
  )
}

function isLane(name: string): name is Lane {
  return LANES.some((lane) => lane === name)
}
