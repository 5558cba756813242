/**
 * Simulates what the learned poll schedule is worth: how late finished tasks are noticed, at the same number of
 * polls, against the fixed schedule, a simpler rule and the best that is possible.
 */
import { type Comparison, compare } from './schedule/compare.ts'
import type { Measured } from './schedule/measure.ts'
import { optimumOfFixed } from './schedule/optimum-of-fixed.ts'
import { slowestPlanningMs } from './schedule/slowest-planning.ts'
import { workloads } from './schedule/workloads.ts'

const LEARN_FROM = 1_000
const REQUIRED = { ofFixed: 0.6, ofOptimum: 1.15, planningMs: 50 }

const ofFixed = ({ ours, fixedAtPolls }: Comparison): number => ours.lagMs / fixedAtPolls.lagMs
const ofOptimum = ({ ours, optimum }: Comparison): number => ours.lagMs / optimum.lagMs
const seconds = ({ lagMs }: Measured): string => `${(lagMs / 1_000).toFixed(1)} s`
const print = (line = ''): boolean => process.stdout.write(`${line}\n`)

function table(head: readonly string[], rows: readonly (readonly string[])[]): void {
  const widths = head.map((title, column) =>
    Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)),
  )
  for (const row of [head, widths.map((width) => '-'.repeat(width)), ...rows]) {
    print(`| ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`)
  }
  print()
}

const learned = workloads.map((workload) => ({
  name: workload.name,
  result: compare(workload, { runs: 12, learnFrom: LEARN_FROM }),
}))
print(
  `Mean lag from finish to the poll that finds it, after learning from ${LEARN_FROM} tasks by polling them:`,
)
print()
table(
  ['tasks', 'polls', 'fixed polls', 'ours', 'fixed', 'equal chance', 'optimum', 'of fixed', 'of optimum'],
  learned.map(({ name, result }) => [
    name,
    result.ours.polls.toFixed(2),
    result.fixed.polls.toFixed(2),
    seconds(result.ours),
    seconds(result.fixedAtPolls),
    seconds(result.equalChance),
    seconds(result.optimum),
    ofFixed(result).toFixed(2),
    ofOptimum(result).toFixed(2),
  ]),
)

const stages = [
  { title: '50 tasks', options: { learnFrom: 50 } },
  { title: '200 tasks', options: { learnFrom: 200 } },
  { title: 'twice as fast', options: { learnFrom: LEARN_FROM, speedUp: 2, relearnFrom: 200 } },
  { title: 'twice as slow', options: { learnFrom: LEARN_FROM, speedUp: 0.5, relearnFrom: 200 } },
]
print('While learning, and 200 tasks after the vendor changed speed (of fixed / of optimum):')
print()
table(
  ['tasks', ...stages.map(({ title }) => title)],
  workloads.map((workload) => [
    workload.name,
    ...stages.map(({ options }) => {
      const result = compare(workload, { runs: 6, ...options })
      return `${ofFixed(result).toFixed(2)} / ${ofOptimum(result).toFixed(2)}`
    }),
  ]),
)

const widths = [0.2, 0.3, 0.4, 0.5, 0.6]
print(
  'What is possible at all: the optimum of fixed, at its number of polls, by the width σ of a log-normal:',
)
print()
table(
  ['median', ...widths.map((sigma) => `σ ${sigma}`)],
  [30_000, 60_000, 180_000].map((medianMs) => [
    `${medianMs / 1_000} s`,
    ...widths.map((sigma) => optimumOfFixed(medianMs, sigma).toFixed(2)),
  ]),
)

const planningMs = slowestPlanningMs()
print(`Planning takes ${planningMs.toFixed(1)} ms at most (median of 11 for the hardest histogram).`)

const worst = {
  ofFixed: Number(Math.max(...learned.map(({ result }) => ofFixed(result))).toFixed(3)),
  ofOptimum: Number(Math.max(...learned.map(({ result }) => ofOptimum(result))).toFixed(3)),
}
if (
  worst.ofFixed > REQUIRED.ofFixed ||
  worst.ofOptimum > REQUIRED.ofOptimum ||
  planningMs > REQUIRED.planningMs
) {
  process.stderr.write(`Missed: required are at most ${JSON.stringify(REQUIRED)}.\n`)
  process.exitCode = 1
}
print(JSON.stringify(worst))
