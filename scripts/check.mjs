/** `npm run check`: all that can be judged without running: format, lint, types, unused code, the packages. */
import { commandFile, ensureInstalled, ensureStudioBuilt, root, runNode } from './bootstrap.mjs'
import { preparePackage } from './prepare-package.mjs'

if (process.argv.slice(2).some((argument) => ['--help', '-h'].includes(argument))) {
  console.log(
    'npm run check    format, lint, types, unused code, and whether the packages are fit to publish',
  )
  process.exit(0)
}

const failures = []

async function check(name, remedy, args) {
  const began = performance.now()
  const { code, output } = await runNode(args, { capture: true })
  const seconds = ((performance.now() - began) / 1000).toFixed(1)
  console.log(`${code === 0 ? 'ok    ' : 'FAILED'} ${name} (${seconds} s)`)
  if (code === 0) return
  console.log(`\n${output.trim()}\n${remedy ? `${remedy}\n` : ''}`)
  failures.push(name)
}

await ensureInstalled()
await check('format and lint', 'To correct what can be: node_modules/.bin/biome check --write', [
  commandFile('@biomejs/biome'),
  'ci',
  ...(process.stdout.isTTY ? [] : ['--colors=off']),
  root,
])
await check('types', '', [commandFile('typescript', root, 'tsc'), '-b'])
await check(
  'size of the client',
  'The limits are in .size-limit.json; nothing may be added without taking something away.',
  [commandFile('size-limit')],
)
await check('unused files, exports and dependencies', '', [
  commandFile('knip'),
  // A pattern of knip.json that matches nothing: what it named has moved.
  '--treat-config-hints-as-errors',
])

await ensureStudioBuilt()
preparePackage()
for (const name of ['shared', 'client', 'server']) {
  const folder = `${root}/packages/${name}`
  await check(`@holdfast/${name} as a package`, '', [
    commandFile('publint'),
    folder,
    '--strict',
    '--pack',
    'npm',
  ])
  await check(`@holdfast/${name}'s types as a package`, '', [
    commandFile('@arethetypeswrong/cli', root, 'attw'),
    '--pack',
    folder,
    '--profile',
    'esm-only',
    '--no-definitely-typed',
  ])
}

if (failures.length > 0) {
  console.error(`\nFailed: ${failures.join(', ')}`)
  process.exit(1)
}
console.log('\nAll checks passed.')
