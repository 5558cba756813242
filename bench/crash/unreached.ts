import type { Point } from './instrument-sources.ts'

interface Unreached {
  why: string
  /** Where: a file or the beginning of its name, or a file and what is written on the line. */
  where: (string | readonly [file: string, text: string])[]
}

/**
 * Why some awaits are passed by no scenario. One that is neither passed nor here makes the proof fail, and so does a
 * place here where no await is.
 */
const UNREACHED: readonly Unreached[] = [
  {
    why: 'Reads only: whoever dies here has changed nothing.',
    where: [
      'plugins/conversations/messages.ts',
      'plugins/conversations/read-conversations.ts',
      ['plugins/conversations/conversations.ts', 'const rows = await'],
      ['plugins/conversations/conversations.ts', 'await find'],
      ['plugins/credits/give-back.ts', 'const [task] = await'],
      'plugins/credits/list-entries.ts',
      ['database/schema-state.ts', 'readNames('],
      ['database/supabase-roles.ts', 'may_make'],
      'auth/remember-tokens.ts',
      'tasks/list-tasks.ts',
      'tasks/present-tasks.ts',
      'tasks/sync-tasks.ts',
      'tasks/task-tag.ts',
      ['work/copy/claim-copies.ts', '{ waiting: number'],
      ['work/copy/create-copies.ts', 'countCopies('],
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
      ['routes/admin-credits.ts', 'auditEntries('],
      ['routes/admin.ts', 'listDeadLetters('],
      ['routes/conversations.ts', 'listConversations('],
      ['routes/conversations.ts', 'listMessages('],
      'routes/files.ts',
      'routes/health.ts',
      'routes/metrics.ts',
      'routes/sync.ts',
      ['routes/tasks.ts', 'readTaskTag('],
      ['routes/tasks.ts', 'listTasks('],
      ['routes/tasks.ts', 'const task = await findTask('],
    ],
  },
  {
    why: 'Checks a token by its signature, and asks for the keys to that. Nothing is written; the cases have a check of their own.',
    where: ['auth/jwt-authenticate.ts'],
  },
  {
    why: 'Asks at the start, on two connections, whether a pooler is in between, and writes nothing. The cases have none.',
    where: ['locks/assert-session-pooling.ts', 'locks/find-transaction-pooler.ts'],
  },
  {
    why: 'Migrates on behalf of the application, before the server starts: see left-out.ts.',
    where: [
      ['create-holdfast.ts', 'readiness.poolerKnown()'],
      ['create-holdfast.ts', 'await migrate('],
      ['create-holdfast.ts', 'direct?.end('],
    ],
  },
  {
    why: 'Another holder of the lock is stopped and not dead, or a lock was granted to somebody who no longer wants it: tests with two processes, one of them stopped. A dead holder needs none of it, its lock is free by itself.',
    where: [
      ['locks/advisory-lock.ts', 'endSilentHolder('],
      ['locks/advisory-lock.ts', 'endIfSilent('],
      ['locks/advisory-lock.ts', 'const [row] = await session.run('],
      ['locks/redis-lock.ts', 'await run(FREE'],
      ['locks/until-held.ts', 'held?.release()'],
    ],
  },
  {
    why: 'Waits for its turn while another replica holds the lock. It does no work until then, and has nothing to lose.',
    where: [['locks/until-held.ts', 'await delay(']],
  },
  {
    why: 'Stores on the network. What is written in PostgreSQL before and after a put or a delete is the same for every store, and is passed with files in a folder. A put is one request, or an upload in parts that is nothing until its last request; the tests of the S3 store show what is abandoned, and when.',
    where: [
      'objects/s3-',
      'objects/supabase-store.ts',
      ['objects/open-object-store.ts', "import('./s3-store.ts')"],
      ['objects/open-object-store.ts', "import('./supabase-store.ts')"],
    ],
  },
  {
    why: 'A page that was closed while its stream was being prepared: ends the stream, in the memory of this process.',
    where: [['routes/stream.ts', 'response.body?.cancel()']],
  },
  {
    why: 'Waits, at a stop in good order, for alerts that are being posted. A chat may miss an alert of a process that dies; what the alert is about stays in the database.',
    where: [['alerts/create-alerts.ts', 'Promise.all(sending)']],
  },
  {
    why: "The application's own call of what an administrator's request does too, in the same transaction, which is passed.",
    where: [['plugins/credits/credits.ts', 'grantCredits(']],
  },
  {
    why: 'Waits for PostgreSQL, which was away when the server started, before any work begins.',
    where: [
      ['database/create-readiness.ts', 'sleep('],
      ['work/until-prepared.ts', 'alarm.pause('],
    ],
  },
  {
    why: 'Several files at once: more than are copied at a time, a store that fails four times in a row, one that cannot be written down with the others. The cases have one file.',
    where: [
      'concurrency/gather.ts',
      ['work/copy/copy-kind.ts', 'handBackCopies('],
      ['work/copy/copy-kind.ts', "breaker.state === 'open'"],
    ],
  },
  {
    why: 'Another replica has copied a file, or its time was over, while it was being copied here: tests with two replicas, and replicas that lose claims all the time.',
    where: [
      ['work/copy/copy-writes.ts', 'const dropped = await'],
      ['work/copy/copy-writes.ts', '{ wanted: boolean }'],
      ['work/copy/run-copy.ts', 'context.objects.delete('],
      ['work/copy/run-copy.ts', 'dropCopy('],
      ['work/copy/run-copy.ts', 'isLeftOver('],
      ['work/copy/run-copy.ts', 'await objects.delete([key])'],
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
    why: 'A create without a price and a conversation: one statement, which happens or does not. The tasks of the cases have both.',
    where: [
      'tasks/create-together.ts',
      ['tasks/create-submit.ts', 'createTogether('],
      ['tasks/create-submit.ts', 'withoutUrls'],
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

type Place = Unreached['where'][number]

/** Why nobody passes it; undefined if nobody has said. */
export function whyUnreached(point: Point): string | undefined {
  return UNREACHED.find(({ where }) => where.some((place) => isAt(point, place)))?.why
}

/** Places where no await is any more. */
export function findIdlePlaces(points: readonly Point[]): string[] {
  return UNREACHED.flatMap(({ where }) => where)
    .filter((place) => !points.some((point) => isAt(point, place)))
    .map((place) => JSON.stringify(place))
}

function isAt({ id, text }: Point, place: Place): boolean {
  return typeof place === 'string' ? id.startsWith(place) : id.startsWith(place[0]) && text.includes(place[1])
}
