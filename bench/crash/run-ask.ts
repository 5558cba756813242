import { readFile } from 'node:fs/promises'
import { isDeepStrictEqual } from 'node:util'
import { type AskState, isQuiet, readAskState } from './ask-state.ts'
import { ASKS } from './asks.ts'
import { type CaseReport, type CrashCase, FINISH_WITHIN_MS } from './crash-case.ts'
import type { CrashLab } from './crash-lab.ts'
import { passLeases } from './meanwhile.ts'
import { playOut } from './play-out.ts'
import type { AskScenario } from './scenario.ts'
import { onStage, type Stage } from './stage.ts'
import { until } from './until.ts'

/** One request that changes something, repeated until it is answered, with a server dying on the way. */
export function runAsk(lab: CrashLab, crash: CrashCase<AskScenario>): Promise<CaseReport> {
  const { asks, told, oddity } = crash.scenario
  const look = async (sql: Stage['sql']) => {
    const state = await readAskState(sql)
    await passLeases(sql)
    return state
  }
  // Who watches a task has it polled soon. Here a webhook must be what makes that happen.
  const unwatched = asks.startsWith('call-back')
  return onStage(lab, { told, oddity, look, unwatched }, (stage) => play(lab, crash, stage, asks))
}

async function play(
  lab: CrashLab,
  { scenario, kill, record }: CrashCase<AskScenario>,
  stage: Stage<AskState>,
  asks: AskScenario['asks'],
): Promise<Omit<CaseReport, 'said'>> {
  const { sql, simulator } = stage
  const plan = await ASKS[asks]({ lab, stage })
  const before = await readAskState(sql)
  const buried = stage.atDeath.length

  const recordFile = record ? lab.newFile('passed') : undefined
  const { sourcesFile } = lab
  const watched = await stage.start({ sourcesFile, armAt: scenario.armAt, kill, recordFile })
  stage.succeed(watched)
  const first = await plan.ask()
  const answeredWith = await readAskState(sql)
  await plan.goOn?.()
  const quiet = () =>
    until('nothing left to do', async () => isQuiet(await readAskState(sql)), {
      withinMs: FINISH_WITHIN_MS,
    }).catch(() => undefined)
  const died = await playOut(stage, watched, { dies: kill !== undefined, done: quiet })
  const passed = recordFile ? (await readFile(recordFile, 'utf8')).trim().split('\n') : []
  // Once more, as after a lost answer: that must change nothing.
  const again = await plan.ask()
  await quiet()
  const end = await readAskState(sql)

  const violations: string[] = []
  const must = (holds: boolean, sentence: string) => {
    if (!holds) violations.push(sentence)
  }
  const last = plan.steps.at(-1)
  must(plan.view(before) === plan.steps[0], `it begins with "${plan.view(before)}"`)
  for (const state of stage.atDeath.slice(buried)) {
    must(plan.steps.includes(plan.view(state)), `at a death: "${plan.view(state)}"`)
    must(state.isEven, 'at a death: an account is not what its entries come to')
  }
  must(plan.view(answeredWith) === last, `when it was answered: "${plan.view(answeredWith)}"`)
  must(plan.view(end) === last, `in the end: "${plan.view(end)}", not "${last}"`)
  must(end.isEven, 'an account is not what its entries come to')
  must(isQuiet(end), 'something is left to be done')
  for (const { status } of [first, again]) {
    must(plan.statuses.includes(status), `it was answered with ${status}`)
  }
  if (plan.same) {
    must(isDeepStrictEqual(plan.same(first.answer), plan.same(again.answer)), 'it was answered differently')
  }
  const creates = simulator.creates()
  must(creates <= end.tasks.length, `${creates} creates were accepted for ${end.tasks.length} tasks`)
  violations.push(...(plan.find?.(end) ?? []))
  return {
    died,
    outcome: violations.length === 0 ? 'answered' : 'wrong',
    creates,
    sends: creates,
    messages: end.unread,
    violations,
    passed,
  }
}
