/** Every property of the tests again and again with new random seeds; counterexamples come with seed and path. */
import { randomInt } from 'node:crypto'
import { join, relative } from 'node:path'
import { parseArgs } from 'node:util'
import { findPropertyFiles } from '../properties/find-property-files.ts'
import { runWithSeed } from '../properties/run-with-seed.ts'

const HELP = `npm run proof -- properties [options]

  --minutes N    begin no further pass after so long (10)
  --only TEXT    only test files whose path contains TEXT
  --seed N       the seed of the first pass, to repeat one; random otherwise
  --runs N       of properties that do not say how many they need (500)`

const FOLDERS = ['packages', 'supabase/tests', 'e2e', 'examples/studio/src', 'scripts']

const { values: options } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    only: { type: 'string', default: '' },
    seed: { type: 'string' },
    runs: { type: 'string', default: '500' },
    help: { type: 'boolean', short: 'h', default: false },
  },
})
if (options.help) {
  console.log(HELP)
  process.exit(0)
}
const minutes = numberOf('minutes', options.minutes)
const runs = numberOf('runs', options.runs)
const firstSeed = options.seed === undefined ? null : numberOf('seed', options.seed)

const root = join(import.meta.dirname, '../..')
const files = findPropertyFiles(FOLDERS.map((folder) => join(root, folder))).filter((file) =>
  file.includes(options.only),
)
if (files.length === 0) {
  console.error(`No test file with properties has “${options.only}” in its path.`)
  process.exit(1)
}

interface Row {
  property: string
  passes: number
  runs: number
  counterexamples: number
}
const rows = new Map<string, Row>()
const counterexamples: string[] = []
let broken = 0
const began = performance.now()
for (let pass = 1; pass === 1 || performance.now() - began < minutes * 60_000; pass++) {
  const seed = (pass === 1 ? firstSeed : null) ?? randomInt(2 ** 31)
  const startedAt = performance.now()
  const { reports, failed, output } = await runWithSeed(root, files, { seed, runs })
  const found = reports.filter(({ counterexample }) => counterexample)
  for (const { file, test, runs: tried, counterexample, seed: its } of reports) {
    const property = `${relative(root, file)} › ${test}`
    const row = rows.get(property) ?? { property, passes: 0, runs: 0, counterexamples: 0 }
    rows.set(property, row)
    row.passes += 1
    row.runs += tried
    if (!counterexample) continue
    row.counterexamples += 1
    counterexamples.push(
      `${property}\n{ seed: ${its}, path: '${counterexample.path}' }\n${counterexample.message}`,
    )
  }
  const seconds = Math.round((performance.now() - startedAt) / 1000)
  console.log(`pass ${pass}, seed ${seed}: ${found.length} counterexamples, ${seconds} s`)
  if (failed && found.length === 0) {
    broken += 1
    console.log(`${output}\nThis pass failed without a counterexample (see above).`)
  } else if (reports.length === 0) {
    broken += 1
    console.log(`${output}\nNo property reported anything (see above).`)
  }
}

const width = Math.max(...[...rows.keys()].map(({ length }) => length), 0)
console.log(`\n${'property'.padEnd(width)}  passes     runs  counterexamples`)
for (const { property, passes, runs: tried, counterexamples: found } of rows.values()) {
  console.log(
    `${property.padEnd(width)}  ${String(passes).padStart(6)} ${String(tried).padStart(8)}  ${String(found).padStart(15)}`,
  )
}
for (const text of counterexamples) console.log(`\n${text}`)

const figures = {
  runs: [...rows.values()].reduce((sum, row) => sum + row.runs, 0),
  counterexamples: counterexamples.length,
  properties: rows.size,
  broken,
  seconds: Math.round((performance.now() - began) / 1000),
}
console.log(`\n${JSON.stringify(figures)}`)
process.exitCode = counterexamples.length === 0 && broken === 0 ? 0 : 1

function numberOf(name: string, text: string): number {
  const value = Number(text)
  if (text.trim() !== '' && Number.isFinite(value) && value >= 0) return value
  console.error(`--${name} is "${text}"; it must be a number, not below zero.`)
  process.exit(1)
}
