/** `npm start`: the server with everything it needs, and the studio at http://localhost:8787. */
import { ensureInstalled, ensureStudioBuilt, root, runNode } from './bootstrap.mjs'

await ensureInstalled()
await ensureStudioBuilt()
const args = ['--conditions=holdfast-source', `${root}/packages/server/src/main.ts`, 'dev']
const { code } = await runNode([...args, ...process.argv.slice(2)])
process.exit(code)
