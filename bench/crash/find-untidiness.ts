import { isDeepStrictEqual } from 'node:util'
import type { HouseState } from './house-state.ts'
import type { Left, Thing } from './things.ts'

interface HouseFacts {
  /** What each task id stands for. */
  things: ReadonlyMap<string, Thing>
  /** Before the first sweep. */
  before: HouseState
  /** At each death of a process, oldest first. */
  atDeath: readonly HouseState[]
  end: HouseState
  /** Creates since then. */
  creates: number
}

/** What is left of the rows that are no task's: the others have had their time. */
const USED_UP_LEFT: HouseState['usedUp'] = {
  heard: ['new'],
  endpoints: ['named'],
  tellings: ['named'],
  telling: ['named'],
  shares: ['here'],
}

/** Whether all has gone that must go. */
export function isTidy({ things, end }: Pick<HouseFacts, 'things' | 'end'>): boolean {
  return (
    isDeepStrictEqual(end.usedUp, USED_UP_LEFT) &&
    end.unfinished === 0 &&
    [...things].every(([id, { left }]) => isDeepStrictEqual(leftOf(end, id), left))
  )
}

/** What must hold wherever a server died while it swept: each sentence that does not. */
export function findUntidiness({ things, before, atDeath, end, creates }: HouseFacts): string[] {
  const violations: string[] = []
  const must = (holds: boolean, sentence: string) => {
    if (!holds) violations.push(sentence)
  }

  for (const [index, state] of [...atDeath, end].entries()) {
    const when = index < atDeath.length ? 'at a death' : 'in the end'
    must(isDeepStrictEqual(state.ledger, before.ledger), `${when}: the ledger is another`)
    must(isDeepStrictEqual(state.statistics, before.statistics), `${when}: the statistics say something else`)
    for (const [id, { name, left }] of things) {
      const has = leftOf(state, id)
      must(left.task === null || has.task === left.task, `${when}: "${name}" is gone before its time`)
      must(has.object || !left.object, `${when}: the file of "${name}" is gone before its time`)
      must(has.message || !left.message, `${when}: the message of "${name}" is gone`)
      must(has.key || !left.key, `${when}: the key of "${name}" is gone before its time`)
      // A file is removed before its row says so, so that no file is left of which nobody knows.
      must(
        !has.object || has.file === 'stored' || has.file === 'remote',
        `${when}: the file of "${name}" is there, and its row says ${has.file}`,
      )
    }
    for (const [what, names] of Object.entries(USED_UP_LEFT)) {
      const there = state.usedUp[what as keyof typeof USED_UP_LEFT]
      must(
        names.every((name) => there.includes(name)),
        `${when}: of ${what} only ${there} is there`,
      )
    }
  }

  for (const [id, { name, left }] of things) {
    const has = leftOf(end, id)
    must(isDeepStrictEqual(has, left), `"${name}" is left as ${JSON.stringify(has)}`)
    const version = before.things[id]?.version ?? 0
    const isTold = left.file !== before.things[id]?.file
    must(
      left.task === null || end.things[id]?.version === version + Number(isTold),
      `"${name}" went from version ${version} to ${end.things[id]?.version}`,
    )
  }
  must(isDeepStrictEqual(end.usedUp, USED_UP_LEFT), `used up and left: ${JSON.stringify(end.usedUp)}`)
  must(end.unfinished === 0, `${end.unfinished} steps or files are left unfinished`)
  must(creates === 0, `${creates} creates were sent for tasks that had ended`)
  return violations
}

function leftOf(state: HouseState, id: string): Left {
  const { version: _, ...left } = state.things[id] ?? { version: null }
  return left as Left
}
