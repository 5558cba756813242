/** `npm test`: every test, with a real PostgreSQL and real browsers. */
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { commandFile, ensureInstalled, ensureStudioBuilt, root, runNode } from './bootstrap.mjs'
import { ensureBrowsers } from './find-browsers.mjs'

const HELP = `npm test                 all tests: units, server on a real PostgreSQL, studio in real browsers
npm test -- PATTERN …    only those unit and server tests whose file path contains PATTERN; no browser

Browsers other than the system's: CHROMIUM_PATH=/path/to/chromium FIREFOX_PATH=/path/to/firefox npm test
With CI=true a browser that is missing is a failure; elsewhere only Debian needs all three.`

const patterns = process.argv.slice(2)
if (patterns.some((argument) => ['--help', '-h'].includes(argument))) {
  console.log(HELP)
  process.exit(0)
}

const e2eConfig = join(root, 'e2e', 'playwright.config.ts')
const inBrowser = patterns.length === 0 && existsSync(e2eConfig)

await ensureInstalled()
const browsers = inBrowser ? await ensureBrowsers() : undefined

const reports = mkdtempSync(join(tmpdir(), 'holdfast-reports-'))
process.on('exit', () => rmSync(reports, { recursive: true, force: true }))

/** A run that broke without a failed test, say in its setup, counts as one failure: it must never look green. */
function tally(name, code, file, read) {
  const { passed, failed } = existsSync(file)
    ? read(JSON.parse(readFileSync(file, 'utf8')))
    : { passed: 0, failed: [] }
  const broke = code !== 0 && failed.length === 0
  return { passed, failed: broke ? [`${name}: the run itself broke, see above`] : failed }
}

/** Every failed test of a report of Vitest's, a line each. A file that broke before its first test counts as one. */
function failedUnits({ testResults }) {
  return testResults.flatMap(({ name, status, assertionResults }) => {
    const file = relative(root, name)
    const tests = assertionResults.filter((test) => test.status === 'failed')
    if (tests.length === 0) return status === 'failed' ? [file] : []
    return tests.map((test) => `${file}: ${test.fullName}`)
  })
}

/** The same of Playwright's, whose suites hold suites. */
function failedSpecs({ specs = [], suites = [] }) {
  const own = specs
    .filter((spec) => spec.tests.some((test) => test.status === 'unexpected'))
    .map((spec) => `${join('e2e', spec.file)}: ${spec.title}`)
  return [...own, ...suites.flatMap(failedSpecs)]
}

async function runVitest(name, args) {
  const file = join(reports, `${name}.json`)
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${file}`]
  const { code } = await runNode([commandFile('vitest'), 'run', ...reporters, ...args], {
    env: browsers?.env,
  })
  return tally(name, code, file, (report) => ({
    passed: report.numPassedTests,
    failed: failedUnits(report),
  }))
}

/** Projects that measure rates and kill processes have the machine nearly to themselves: they wait most of the time. */
const APART = ['poller', 'replicas', 'tabs', 'crash', 'money']

/** Most files wait for servers and processes most of the time: a core has time for more than one. */
const WORKERS = Math.ceil(availableParallelism() * 1.5)

async function runUnits() {
  if (patterns.length > 0) return [await runVitest('vitest', patterns)]
  return [
    await runVitest('together', [...APART.map((name) => `--project=!${name}`), `--maxWorkers=${WORKERS}`]),
    await runVitest('apart', [...APART.map((name) => `--project=${name}`), '--maxWorkers=2']),
  ]
}

async function runPlaywright() {
  await ensureStudioBuilt()
  const file = join(reports, 'playwright.json')
  const env = { ...browsers.env, PLAYWRIGHT_JSON_OUTPUT_NAME: file }
  // By name, so that one which is there but is not taken for a project is an error.
  const projects = browsers.names.map((name) => `--project=${name}`)
  const args = ['test', `--config=${e2eConfig}`, '--reporter=list,json', ...projects]
  const { code } = await runNode([commandFile('@playwright/test', root, 'playwright'), ...args], { env })
  return tally('playwright', code, file, (report) => ({
    passed: report.stats.expected + report.stats.flaky,
    failed: failedSpecs(report),
  }))
}

const results = await runUnits()
if (inBrowser) results.push(await runPlaywright())
else if (patterns.length > 0)
  console.log('\nThe browser tests were left out: a pattern selects among the others.')

for (const sentence of browsers?.leftOut ?? []) console.log(`\n${sentence}`)

const passed = results.reduce((total, result) => total + result.passed, 0)
const failed = results.flatMap((result) => result.failed)
// Once more at the end: in a long log nobody finds the one that failed.
for (const name of failed) console.log(`\nFAILED ${name}`)
console.log(`\n${passed} passed, ${failed.length} failed`)
process.exit(failed.length === 0 ? 0 : 1)
