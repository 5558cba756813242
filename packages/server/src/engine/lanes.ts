import { LANES, type Lane } from '@holdfast/shared'

/**
 * What share of a provider's budget a lane gets while others have due work too; what one lane leaves, the others
 * use. So a flood in one lane slows the others down to their share at worst, and never stops them.
 */
export const LANE_WEIGHTS: Record<Lane, number> = {
  enterprise_exclusive: 8,
  vip_short: 8,
  vip_long: 4,
  free_default: 2,
}

export const ALL_LANES: readonly Lane[] = LANES
