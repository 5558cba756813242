import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ensureInstalled, root, runNode } from './bootstrap.mjs'

function firstSentence(file) {
  const comment = /\/\*\*([\s\S]*?)\*\//.exec(readFileSync(file, 'utf8'))?.[1] ?? ''
  const lines = comment.split('\n').map((line) => line.replace(/^\s*\*?\s?/, '').trim())
  return lines.find(Boolean) ?? ''
}

/** Runs `FOLDER/NAME.KIND.ts` on Node 24; without a name, or with one nobody knows, lists what there is. */
export async function runByName(folder, kind) {
  const [name, ...rest] = process.argv.slice(2)
  const suffix = `.${kind}.ts`
  const home = join(root, folder)
  const files = (existsSync(home) ? readdirSync(home) : []).filter((file) => file.endsWith(suffix)).sort()
  const names = files.map((file) => file.slice(0, -suffix.length))

  if (name && names.includes(name)) {
    await ensureInstalled()
    const { code } = await runNode(['--conditions=holdfast-source', join(home, name + suffix), ...rest])
    process.exit(code)
  }

  const asksForHelp = !name || name === '--help' || name === '-h'
  const say = asksForHelp ? console.log : console.error
  if (!asksForHelp) say(`There is no ${kind} named ${name}.\n`)
  say(`npm run ${kind} -- NAME\n`)
  const width = Math.max(0, ...names.map(({ length }) => length))
  for (const known of names) say(`  ${known.padEnd(width)}  ${firstSentence(join(home, known + suffix))}`)
  if (names.length === 0) say(`  There is none yet; they live in ${folder} and are called NAME${suffix}.`)
  process.exit(asksForHelp ? 0 : 1)
}
