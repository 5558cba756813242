import type { AlertNotice } from '../src/alerts/alert.ts'
import { createMemoryBus } from '../src/bus/memory-bus.ts'
import type { Sql } from '../src/database/connect.ts'
import type { SweepContext } from '../src/sweeps/run-sweeps.ts'
import type { TaskType } from '../src/tasks/task-types.ts'
import { createMemoryLog } from './memory-log.ts'
import { scriptedTypes } from './scripted-types.ts'
import { createTestSettle } from './settle-task.ts'

/** What a sweep needs, and what it told: whose streams, the log, and alerts, each time. */
export function createSweepContext(
  sql: Sql,
  type: Partial<TaskType> = {},
): SweepContext & { published: string[]; logLines: string[]; alerts: AlertNotice[] } {
  const alerts: AlertNotice[] = []
  const { log, lines } = createMemoryLog()
  const bus = createMemoryBus()
  const published: string[] = []
  return {
    sql,
    settle: createTestSettle(sql),
    bus: { ...bus, publish: (userId) => void published.push(userId) },
    types: scriptedTypes('scripted', type),
    log,
    alert: (notice) => void alerts.push(notice),
    alerts,
    published,
    logLines: lines,
  }
}
