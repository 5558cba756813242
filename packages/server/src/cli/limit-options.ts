import type { Config } from '../config.ts'
import type { HoldfastConfig } from '../create-holdfast.ts'

/** What the settings say of how much one user, or one address, may ask for. */
export function limitOptions(config: Config): Partial<HoldfastConfig> {
  const { user, address } = config.requestsPerMinute
  return {
    ...(config.tasksPerMinute ? { tasksPerMinute: config.tasksPerMinute } : {}),
    ...(config.unfinishedTasks ? { unfinishedTasks: config.unfinishedTasks } : {}),
    requestsPerMinute: { ...(user ? { user } : {}), ...(address ? { address } : {}) },
    trustProxy: config.trustProxy ?? 0,
  }
}
