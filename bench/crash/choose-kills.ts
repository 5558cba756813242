import { type Kill, MOMENTS } from './orders.ts'
import type { Scenario } from './scenarios.ts'

/** Points passed more often than this (the engine looking for work) are taken the first time and half-way. */
const EVERY_HIT_UP_TO = 5

/**
 * Every point passed. The first scenario has its deaths at all three moments; for the others, which share most of
 * their code with it, before and after are enough.
 */
export function chooseKills(scenario: Scenario, hits: ReadonlyMap<string, number>): Kill[] {
  const moments = scenario.around ? (['before', 'after'] as const) : MOMENTS
  return [...hits].flatMap(([point, count]) => {
    const chosen =
      count <= EVERY_HIT_UP_TO
        ? Array.from({ length: count }, (_, index) => index + 1)
        : [1, Math.ceil(count / 2)]
    return chosen.flatMap((hit) => moments.map((moment) => ({ point, moment, hit })))
  })
}
