import type { Point } from './instrument-sources.ts'

interface Unreached {
  why: string
  /** Where: a file or the beginning of its name, or a file and what is written on the line. */
  where: (string | readonly [file: string, text: string])[]
}

/** Why some awaits are passed by no scenario. One that is neither passed nor here makes the proof fail. */
const UNREACHED: readonly Unreached[] = [
  {
    why: 'Reads only: whoever dies here has changed nothing.',
    where: [
      'plugins/conversations/messages.ts',
      'plugins/credits/list-entries.ts',
      ['plugins/credits/credits.ts', 'readBalance('],
      ['plugins/credits/credits.ts', 'listEntries('],
      'tasks/list-tasks.ts',
      'tasks/present-tasks.ts',
      'tasks/sync-tasks.ts',
      'tasks/task-tag.ts',
      ['engine/claim-mirrors.ts', '{ waiting: number'],
      ['engine/run-mirrors.ts', 'countMirrors('],
      ['objects/filesystem-store.ts', 'openObjectFile('],
      ['objects/filesystem-store.ts', 'object.close()'],
      ['objects/filesystem-store.ts', 'opendir('],
      ['objects/object-file.ts', "open(path, 'r')"],
      ['objects/object-file.ts', 'readTrailer('],
      ['objects/object-file.ts', 'file.stat()'],
      ['objects/object-file.ts', 'file.read('],
      ['objects/object-file.ts', 'await close()'],
    ],
  },
  {
    why: 'Asked for by hand, and no part of the way of a task: one statement, or one transaction with a key or a lock, with tests of its own.',
    where: [
      'dead-letters/dead-letters.ts',
      'plugins/conversations/conversations.ts',
      'plugins/credits/give-back.ts',
      'plugins/credits/grant-credits.ts',
      'plugins/credits/read-balance.ts',
      ['plugins/credits/credits.ts', 'grantCredits('],
      'tasks/adoption.ts',
      'tasks/retry-task.ts',
      'tasks/save-task.ts',
      ['tasks/create-task.ts', 'adoption'],
      ['tasks/create-task.ts', 'keepFromRemoval('],
      ['tasks/create-task.ts', 'const [kept] = await'],
    ],
  },
  {
    why: 'Orderly stop, or a store that is away: what is claimed is handed back. A process that is killed does not come here.',
    where: [
      ['artifacts/mirror-writes.ts', 'set due_at = now(), epoch = w.epoch + 1'],
      ['artifacts/source/connections.ts', 'map(drop)'],
      ['database/replace-after-loss.ts', 'current.end('],
      ['engine/budgets.ts', 'delete from holdfast.budget_shares'],
      ['engine/create-batcher.ts', 'underWay'],
      ['engine/create-line.ts', 'busy'],
      ['engine/engine.ts', 'held.release()'],
      ['engine/engine.ts', 'flush()'],
      ['engine/engine.ts', 'Promise.race([running, tooLong])'],
      ['engine/engine.ts', 'lock.close()'],
      ['engine/progress-writer.ts', 'heat.flush()'],
      ['engine/run-deliveries.ts', 'Promise.all(underWay)'],
      ['engine/run-mirror.ts', 'context.stopping.aborted'],
      ['engine/run-mirrors.ts', 'handBack'],
      ['engine/run-mirrors.ts', 'Promise.all(underWay)'],
      ['engine/run-provider.ts', 'returnShares('],
      ['engine/run-provider.ts', 'line.drained()'],
      ['objects/filesystem-store.ts', 'prepared?.catch'],
      ['providers/kie/kie.ts', 'await closing'],
    ],
  },
  {
    why: 'PostgreSQL or the disk is away or slow at that very moment: nothing is written here but tried again. See the poller proof.',
    where: [
      'artifacts/write-together.ts',
      ['database/replace-after-loss.ts', 'pool.end('],
      ['database/transaction.ts', 'HEARD_WITHIN_MS'],
      ['engine/run-deliveries.ts', 'PAUSE_WHEN_AWAY_MS'],
      ['engine/run-mirrors.ts', 'PAUSE_WHEN_AWAY_MS'],
      ['engine/run-provider.ts', 'PAUSE_WHEN_AWAY_MS'],
      ['engine/until-prepared.ts', 'alarm.pause('],
      ['engine/until-written.ts', 'sleep('],
      ['engine/run-submit.ts', 'marked too long ago to send'],
      ['objects/filesystem-store.ts', 'rm(temporary'],
      ['objects/write-chunks.ts', 'bytesWritten'],
    ],
  },
  {
    why: 'Another replica was faster: tests with two of them, and replicas that lose claims all the time.',
    where: [
      ['artifacts/mirror-writes.ts', 'const dropped = await'],
      ['artifacts/mirror-writes.ts', '{ wanted: boolean }'],
      ['engine/run-mirror.ts', 'context.objects.delete('],
      ['engine/run-mirror.ts', 'dropMirror('],
      ['engine/run-mirror.ts', 'isLeftOver('],
      ['engine/run-mirror.ts', 'await objects.delete([key])'],
      ['engine/run-delivery.ts', 'handBack('],
      // The statement of handBack itself; the others like it are passed.
      ['engine/run-delivery.ts', 'await sql`'],
    ],
  },
  {
    why: 'Large files, bytes that come in another rhythm, and sources with a name: the simulator has small ones at an address.',
    where: [
      'artifacts/source/byte-queue.ts',
      'artifacts/source/resolve-host.ts',
      ['objects/write-chunks.ts', 'MOST_WAITING'],
      ['objects/write-chunks.ts', 'waiting.length > 0'],
    ],
  },
  {
    why: 'Progress and learned durations, written every few seconds, later than these tasks end. What is lost is learned anew.',
    where: [
      ['engine/progress-writer.ts', 'writeProgress('],
      'tasks/write-progress.ts',
      ['poller/learn-durations.ts', 'writePlan('],
    ],
  },
  {
    why: 'An endpoint that took nothing for days, and a type that is no longer offered: one transaction each, with tests, but not killed here.',
    where: [
      ['engine/run-delivery.ts', 'await transaction('],
      ['engine/run-delivery.ts', 'await tx`'],
      ['engine/run-delivery.ts', 'writeDeadLetter('],
      ['engine/run-submit.ts', 'context.settle(work.taskId, settlement, { fence })'],
    ],
  },
]

/** Why nobody passes it; undefined if nobody has said. */
export function whyUnreached({ id, text }: Point): string | undefined {
  return UNREACHED.find(({ where }) =>
    where.some((place) =>
      typeof place === 'string' ? id.startsWith(place) : id.startsWith(place[0]) && text.includes(place[1]),
    ),
  )?.why
}
