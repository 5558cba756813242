import type { CaseState } from './case-state.ts'
import type { WishScenario } from './scenario.ts'
import type { StoredFiles } from './stored-files.ts'

interface CaseFacts {
  scenario: WishScenario
  /** At each death of a process, oldest first. */
  atDeath: CaseState[]
  end: CaseState
  /** The task ids that the client was answered with, over all its tries. */
  answeredIds: string[]
  /** Tasks that the provider accepted. */
  creates: number
  /** Create requests that reached the provider, accepted or not. */
  sends: number
  /** What is in the store, and the hash of what its source gives out; null without a store. */
  files: (StoredFiles & { source: string }) | null
  /** What the application was told, in the order of its coming; null if it has no endpoint. */
  heard: readonly { id: string; event: string }[] | null
}

/** What must hold however often and wherever a server died: each sentence that does not. */
export function findViolations(facts: CaseFacts): string[] {
  const { scenario, atDeath, end, answeredIds, creates, sends, files, heard } = facts
  const violations: string[] = []
  const must = (holds: boolean, sentence: string) => {
    if (!holds) violations.push(sentence)
  }

  must(end.tasks.length === 1, `there are ${end.tasks.length} tasks for one wish`)
  must(end.keys === 1, `there are ${end.keys} idempotency keys for one wish`)
  const [task] = end.tasks
  if (!task) return violations
  must(
    answeredIds.every((id) => id === task.id),
    `the client was told of ${answeredIds.join(' and ')}, the task is ${task.id}`,
  )

  must(creates <= 1, `the provider accepted ${creates} creates for one task`)
  must(sends <= scenario.maxSends, `${sends} creates were sent, ${scenario.maxSends} may be`)

  // Whoever dies between marking and writing the answer down leaves exactly this behind.
  const lost = atDeath.some(({ tasks }) =>
    tasks.some(({ status, sending, externalId }) => status === 'pending' && sending && externalId === null),
  )
  const unknown = { status: 'failed', code: 'SUBMIT_UNKNOWN' }
  // Where the provider can be asked nothing stays unknown. A cancel that the client repeats may come before anybody has
  // found out.
  const wanted =
    !lost || scenario.oddity === 'finds-late'
      ? [scenario.ends]
      : scenario.cancel === 'sending'
        ? [unknown, scenario.ends]
        : [unknown]
  must(
    wanted.some(({ status, code }) => task.status === status && task.failureCode === code),
    `it ended as ${task.status} ${task.failureCode ?? ''}, not as ${wanted.map(({ status, code }) => code ?? status).join(' or ')}`,
  )
  must(
    atDeath.every((state) => state.tasks.every(({ status }) => isActive(status) || status === task.status)),
    'it changed after it had ended',
  )
  const workRows = scenario.file === 'given-up' ? 1 : 0
  must(end.workRows === workRows, `${end.workRows} rows of work are left`)

  const letters = task.failureCode === scenario.ends.code && scenario.letter ? [scenario.letter] : []
  must(end.letters.join() === letters.join(), `the dead letters are of ${end.letters.join(' and ')}`)
  const unsaved = scenario.oddity === 'plugin-throws' ? 'forgetful' : ''
  must(task.unsaved.join() === unsaved, `unsaved is "${task.unsaved.join()}"`)

  const completed = task.status === 'completed'
  const count = completed ? 1 : 0
  must(!completed || creates === 1, `it completed with ${creates} creates`)
  must(end.messages.length === count, `there are ${end.messages.length} messages`)
  must(end.unread === count, `the conversation says ${end.unread} unread`)
  must(end.artifacts.length === count, `there are ${end.artifacts.length} artifacts`)
  const { balance, held, ledger } = end.credits
  const spent = ledger.includes('capture 4')
  // What was lost at its source is given back after it was spent.
  const isGivenBack = completed && scenario.file === 'expired'
  const entries = [
    ...(isGivenBack ? ['adjust 4'] : []),
    ...(spent ? ['capture 4'] : []),
    'grant 100',
    'hold 4',
  ]
  must(
    ledger.join() === [...entries, ...(spent ? [] : ['refund 4'])].join(),
    `the ledger says ${ledger.join(', ')}`,
  )
  must(
    balance === (spent && !isGivenBack ? 96 : 100) && held === 0,
    `the user has ${balance}, and ${held} held`,
  )
  // Cancelled by its user: given back, or spent if the provider had accepted it.
  const isPaid = task.status === 'cancelled' ? task.externalId !== null : completed
  must(
    spent === isPaid,
    `${spent ? '' : 'not '}paid, but ${task.status}, ${task.externalId ?? 'not accepted'}`,
  )
  must(task.messageId === (end.messages[0]?.id ?? null), 'the task does not name its message')
  must(
    end.messages.every(({ taskId }) => taskId === task.id) &&
      end.artifacts.every(({ taskId, messageId }) => taskId === task.id && messageId === task.messageId),
    'the message or the artifact is not of this task',
  )
  if (files && scenario.file) {
    const [file] = end.artifacts
    const state = scenario.file === 'expired' ? 'expired' : 'remote'
    must(file?.state === state && file.problem !== null, `the file is ${file?.state}: ${file?.problem}`)
    must(files.objects.length + files.unfinished === 0, 'something of a file without a copy is in the store')
  } else if (files) {
    const [file] = end.artifacts
    must(file?.state === 'stored', `the file is ${file?.state}, not stored`)
    must(files.objects.length === 1, `there are ${files.objects.length} objects for one file`)
    must(files.unfinished === 0, `${files.unfinished} unfinished files are left`)
    must(file?.objectKey === files.objects[0]?.key, 'the row and the store name different objects')
    must(
      file?.sha256 === files.source && files.objects[0]?.sha256 === files.source,
      'the copy is not what its source gives out',
    )
  }
  if (heard) {
    // A repeat is known by its id; each event is one thing that happened, in its order.
    const events = [...new Map(heard.map(({ id, event }) => [id, event])).values()]
    const started = task.externalId === null ? [] : ['task.started']
    const happened = ['task.submitted', ...started, `task.${task.status}`]
    // Whoever does not take the first is not told what comes after it.
    const told = scenario.told === 'never' ? happened.slice(0, 1) : happened
    must(events.join() === told.join(), `the application heard ${events.join(', ')}`)
    const { waiting, givenUp } = end.untold
    must(waiting === 0, `${waiting} events still have to be told`)
    must(givenUp === (scenario.told === 'never' ? happened.length : 0), `${givenUp} events were given up`)
  }
  return violations
}

function isActive(status: string): boolean {
  return status === 'pending' || status === 'running'
}
