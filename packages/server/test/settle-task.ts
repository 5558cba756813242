import type { Sql } from '../src/database/connect.ts'
import type { Fence } from '../src/engine/claim.ts'
import { conversationsPlugin } from '../src/plugins/conversations/conversations-plugin.ts'
import type { Plugin } from '../src/plugins/plugin.ts'
import { createSettle, type Settle, type SettleParts } from '../src/tasks/create-settle.ts'
import type { Settlement, SettleResult } from '../src/tasks/settle-task.ts'
import { createMemoryLog } from './memory-log.ts'
import { untold } from './record-notices.ts'

/** Ends tasks as a server does, with messages unless told otherwise, and without pauses. */
export function createTestSettle(
  sql: Sql,
  plugins: readonly Plugin[] = [conversationsPlugin],
  changes: Partial<SettleParts> = {},
): Settle {
  const { log } = createMemoryLog()
  return createSettle({ ...untold(sql), plugins, log, alert: () => {}, pausesMs: [1, 1], ...changes })
}

/** Ends one task. */
export function settleTask(
  sql: Sql,
  taskId: string,
  settlement: Settlement,
  fence?: Fence,
): Promise<SettleResult> {
  return createTestSettle(sql)(taskId, settlement, { fence })
}
