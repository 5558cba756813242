/** A user tries to get work for nothing, in every way that there is. */
import { parseArgs } from 'node:util'
import { ATTEMPTS } from '../money/attempts.ts'
import { judgeAttempt, type Verdict } from '../money/judge-attempt.ts'
import { openMoneyLab } from '../money/money-lab.ts'

const HELP = `npm run proof -- money [options]

  --only TEXT    only attempts whose name contains TEXT
  --verbose      what the server said after an attempt that went wrong`

const { values: options } = parseArgs({
  options: {
    only: { type: 'string', default: '' },
    verbose: { type: 'boolean', default: false },
    help: { type: 'boolean', short: 'h', default: false },
  },
})
if (options.help) {
  console.log(HELP)
  process.exit(0)
}

const lab = await openMoneyLab()
const verdicts: Verdict[] = []
try {
  console.log('creates  captured  given back  what a user tries')
  for (const attempt of ATTEMPTS.filter(({ name }) => name.includes(options.only))) {
    const verdict = await judgeAttempt(lab, attempt)
    verdicts.push(verdict)
    const { creates, captured, refundedByUs, name, leaks, overcharged, broken } = verdict
    const columns = [
      String(creates).padStart(7),
      String(captured).padStart(8),
      String(refundedByUs).padStart(10),
    ]
    console.log(`${columns.join('  ')}  ${name}`)
    for (const leak of leaks) console.log(`         LEAK: ${leak}`)
    for (const charge of overcharged) console.log(`         OVERCHARGED: ${charge}`)
    if (broken) console.log(`         BROKEN OFF: ${broken}`)
    if (options.verbose && leaks.length + overcharged.length + (broken ? 1 : 0) > 0) console.log(lab.said())
  }
} finally {
  await lab.close()
}

const sum = (count: (verdict: Verdict) => number) => verdicts.reduce((total, each) => total + count(each), 0)
const figures = {
  attempts: verdicts.length,
  leaks: sum(({ leaks }) => leaks.length),
  overcharged: sum(({ overcharged }) => overcharged.length),
  refundedByUs: sum(({ refundedByUs }) => refundedByUs),
}
const broken = sum((verdict) => (verdict.broken ? 1 : 0))
if (broken > 0) console.log(`\n${broken} could not be played to their end.`)
console.log(`\n${JSON.stringify(figures)}`)
process.exitCode = figures.leaks + figures.overcharged + broken === 0 && verdicts.length > 0 ? 0 : 1
