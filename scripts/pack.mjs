/** `npm run pack`: the packages as tarballs, as they would be published. */
import { mkdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import {
  commandFile,
  ensureInstalled,
  ensureStudioBuilt,
  fail,
  PNPM,
  root,
  run,
  runNode,
  step,
} from './bootstrap.mjs'
import { preparePackage } from './prepare-package.mjs'

const HELP = `npm run pack                 builds the packages and packs them into tarballs/
npm run pack -- FOLDER       … into another folder`

const [folder = join(root, 'tarballs')] = process.argv.slice(2)
if (['--help', '-h'].includes(folder)) {
  console.log(HELP)
  process.exit(0)
}

const NAMES = ['shared', 'client', 'server']
const into = resolve(folder)

await ensureInstalled()
await ensureStudioBuilt()
await step('Packing', `Packed into ${into}`, async () => {
  const folders = NAMES.map((name) => join(root, 'packages', name))
  await orFail(runNode([commandFile('typescript', root, 'tsc'), '-b', ...folders], { capture: true }))
  preparePackage()
  mkdirSync(into, { recursive: true })
  for (const cwd of folders) {
    const args = ['--yes', PNPM, 'pack', '--pack-destination', into]
    await orFail(run('npx', args, { cwd, capture: true }))
  }
})
console.log(`\nIn your app: npm install ${join(into, 'holdfast-*.tgz')}`)

async function orFail(running) {
  const { code, output } = await running
  if (code !== 0) fail(`${output}\nThe packages could not be packed (see above).`)
}
