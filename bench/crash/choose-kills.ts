import { type Kill, MOMENTS } from './orders.ts'
import type { Scenario } from './scenario.ts'

/**
 * Every point passed. The first scenario has its deaths at all three moments; for the others, which share most of
 * their code with it, before and after are enough. Points passed more often than `everyHitUpTo` (the engine looking for
 * work, most of all) are taken the first time and half-way.
 */
export function chooseKills(
  scenario: Scenario,
  hits: ReadonlyMap<string, number>,
  everyHitUpTo: number,
): Kill[] {
  const moments = scenario.around ? (['before', 'after'] as const) : MOMENTS
  return [...hits].flatMap(([point, count]) => {
    const chosen =
      count <= everyHitUpTo
        ? Array.from({ length: count }, (_, index) => index + 1)
        : [1, Math.ceil((count + 1) / 2)]
    return chosen.flatMap((hit) => moments.map((moment) => ({ point, moment, hit })))
  })
}
