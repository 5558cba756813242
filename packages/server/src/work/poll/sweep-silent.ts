import type { Alert } from '../../alerts/alert.ts'
import { isHeld, takeOver } from '../../engine/claim.ts'
import type { SweepContext } from '../../sweeps/run-sweeps.ts'
import { sparingOthers, traceIdOf } from '../../sweeps/sparing-others.ts'
import type { Settlement } from '../../tasks/settle-task.ts'
import { silentAfterOf } from '../../tasks/task-types.ts'

const MOST = 1_000

/** Between the alert with a last poll and the end, by policy. */
const LAST_CHANCE_MS = 5 * 60_000

const SILENT_TOO_LONG: Settlement = {
  status: 'failed',
  failure: {
    code: 'SILENT_TOO_LONG',
    message: 'Nothing was heard of it for too long, so it timed out. You can retry it.',
    retryable: true,
  },
}

interface Silent {
  taskId: string
  type: string
  provider: string
  traceId: string | null
  workId: string
  epoch: number
  silentMs: number
}

/**
 * The watchdog: running tasks of which nothing has been heard for too long. First an alert and one more poll at
 * once; if that tells nothing either, the type's policy ends the task or lets it go on. One alert for all tasks of a
 * type: what silences one of them mostly silences them all.
 */
export async function sweepSilent({ sql, notify, settle, types, log, alert }: SweepContext): Promise<number> {
  const names = Object.keys(types)
  const silent = await sql<Silent[]>`
    select t.id as "taskId", t.type, t.provider, ${traceIdOf(sql)} as "traceId", w.id::text as "workId", w.epoch,
      (extract(epoch from now() - w.silent_since) * 1000)::float8 as "silentMs"
    from unnest(${names}::text[], ${names.map((name) => silentAfterOf(types[name]))}::float8[]) as l (type, after_ms)
      join holdfast.work w on w.silent_since <= now() - l.after_ms * interval '1 ms' and w.kind = 'poll'
      join holdfast.tasks t on t.id = w.task_id and t.type = l.type
    order by w.silent_since limit ${MOST}
  `
  tell(alert, silent)
  for (const { taskId, type, provider, traceId, workId, epoch, silentMs } of silent) {
    const policy = types[type]?.whenSilent ?? 'fail'
    if (silentMs < silentAfterOf(types[type]) + LAST_CHANCE_MS || policy === 'keep') {
      log.debug({ taskId, traceId, type, silentMs }, 'nothing heard of a running task for too long')
      const hastened = await sql`
        update holdfast.work w set due_at = now(), ${takeOver(sql)}
        where ${isHeld(sql, 'poll', { taskId, workId, epoch })} and w.due_at > now()
      `
      if (hastened.count > 0) notify.due('poll', provider)
      continue
    }
    await sparingOthers(log, { taskId, traceId }, () =>
      settle(taskId, SILENT_TOO_LONG, { fence: { workId, epoch } }),
    )
  }
  return silent.length
}

function tell(alert: Alert, silent: readonly Silent[]): void {
  for (const [type, tasks] of Map.groupBy(silent, (task) => task.type)) {
    // They come longest first.
    const [longest] = tasks
    if (!longest) continue
    const { provider, taskId, traceId, silentMs } = longest
    alert({
      name: 'task-silent',
      key: type,
      level: 'critical',
      message: `Nothing has been heard for too long of running tasks of the type "${type}". Look whether "${provider}" answers; each is polled once more and then ended, or kept, as its type says.`,
      details: { type, provider, tasks: tasks.length, taskId, traceId, silentMs: Math.round(silentMs) },
    })
  }
}
