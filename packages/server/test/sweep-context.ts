import type { AlertNotice } from '../src/alerts/alert.ts'
import type { Sql } from '../src/database/connect.ts'
import type { SweepContext } from '../src/sweeps/run-sweeps.ts'
import type { TaskType } from '../src/tasks/task-types.ts'
import { createMemoryLog } from './memory-log.ts'
import { notifyNobody } from './record-notices.ts'
import { scriptedTypes } from './scripted-types.ts'
import { createTestSettle } from './settle-task.ts'

/** What a sweep needs, and what it told: whose streams, the log, and alerts, each time. */
export function createSweepContext(
  sql: Sql,
  type: Partial<TaskType> = {},
): SweepContext & { published: string[]; logLines: string[]; alerts: AlertNotice[] } {
  const alerts: AlertNotice[] = []
  const { log, lines } = createMemoryLog()
  const published: string[] = []
  const notify = { ...notifyNobody, changed: (userId: string) => void published.push(userId) }
  return {
    sql,
    notify,
    settle: createTestSettle(sql, undefined, { notify }),
    types: scriptedTypes('scripted', type),
    log,
    alert: (notice) => void alerts.push(notice),
    alerts,
    published,
    logLines: lines,
  }
}
