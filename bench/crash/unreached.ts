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
      'plugins/conversations/read-conversations.ts',
      'plugins/credits/list-entries.ts',
      ['database/schema-state.ts', 'readNames('],
      ['database/supabase-roles.ts', 'may_make'],
      ['plugins/credits/credits.ts', 'readBalance('],
      ['plugins/credits/credits.ts', 'listEntries('],
      'tasks/list-tasks.ts',
      'tasks/present-tasks.ts',
      'tasks/sync-tasks.ts',
      'tasks/task-tag.ts',
      ['engine/claim-mirrors.ts', '{ waiting: number'],
      ['engine/run-mirrors.ts', 'countCopies('],
      ['objects/filesystem-store.ts', 'openObjectFile('],
      ['objects/filesystem-store.ts', 'object.close()'],
      ['objects/filesystem-store.ts', 'opendir('],
      ['objects/filesystem-store.ts', 'stillThere()'],
      ['objects/filesystem-store.ts', 'readFile(mark'],
      ['objects/filesystem-store.ts', 'const expected = await prepare()'],
      ['objects/object-file.ts', "open(path, 'r')"],
      ['objects/object-file.ts', 'readTrailer('],
      ['objects/object-file.ts', 'file.stat()'],
      ['objects/object-file.ts', 'file.read('],
      ['objects/object-file.ts', 'await close()'],
    ],
  },
  {
    why: 'A file that died at its source, of a task that was paid for: one statement in the transaction that marks the file. It has tests of its own.',
    where: [['plugins/credits/give-back.ts', 'await tx`']],
  },
  {
    why: 'Waits for PostgreSQL, which was away when the server started, before any work begins.',
    where: [
      ['database/create-readiness.ts', 'sleep('],
      ['engine/until-prepared.ts', 'alarm.pause('],
    ],
  },
  {
    why: 'A task that is retried, or adopted a second time: what is read before the transaction that makes any task, and a row that is locked in it. Nothing of their own is written.',
    where: [
      'tasks/retry-task.ts',
      ['tasks/create-task.ts', 'findAdopted('],
      ['tasks/create-task.ts', 'keepFromRemoval('],
      ['tasks/create-task.ts', 'const [kept] = await'],
      ['tasks/adoption.ts', 'const [job] = await'],
    ],
  },
  {
    why: 'Asked for by hand, before a task or after its end: one statement or one transaction each, or two with a key between them (a dead letter that is retried). They have tests of their own.',
    where: [
      'dead-letters/dead-letters.ts',
      'plugins/conversations/conversations.ts',
      ['plugins/credits/give-back.ts', 'const '],
      ['plugins/credits/give-back.ts', 'await tx`select'],
      'plugins/credits/grant-credits.ts',
      'plugins/credits/read-balance.ts',
      ['plugins/credits/credits.ts', 'grantCredits('],
      'tasks/save-task.ts',
    ],
  },
  {
    why: 'Several files at once: more than are copied at a time, a store that fails four times in a row, one that cannot be written down with the others. The cases have one file.',
    where: [
      'artifacts/write-together.ts',
      ['engine/run-mirrors.ts', 'handBackCopies('],
      ['engine/run-mirrors.ts', "breaker.state === 'open'"],
    ],
  },
  {
    why: 'Another replica has copied a file, or its time was over, while it was being copied here: tests with two replicas, and replicas that lose claims all the time.',
    where: [
      ['artifacts/mirror-writes.ts', 'const dropped = await'],
      ['artifacts/mirror-writes.ts', '{ wanted: boolean }'],
      ['engine/run-mirror.ts', 'context.objects.delete('],
      ['engine/run-mirror.ts', 'dropCopy('],
      ['engine/run-mirror.ts', 'isLeftOver('],
      ['engine/run-mirror.ts', 'await objects.delete([key])'],
    ],
  },
  {
    why: 'Large files, a full disk, and sources with a name: the simulator has small files at an address.',
    where: [
      'artifacts/source/resolve-host.ts',
      ['objects/write-chunks.ts', 'MOST_WAITING'],
      ['objects/write-chunks.ts', 'waiting.length > 0'],
      ['objects/write-chunks.ts', 'bytesWritten'],
    ],
  },
  {
    why: 'A task that cost more than was put aside for it: reads a balance, under the lock that the entry needs anyway. It has tests of its own.',
    where: [['plugins/credits/credits-plugin.ts', 'const [account] = await']],
  },
  {
    why: 'Closes connections half a minute after others took their place, in which a case has ended. Nothing is written.',
    where: [['database/replace-after-loss.ts', 'pool.end(']],
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
