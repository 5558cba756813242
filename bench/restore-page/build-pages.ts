import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build, defaultClientConditions } from 'vite'
import { SHOWN } from './contenders.ts'

/** As an app is built for production: minified, in files that browsers may keep. */
export async function buildPages(): Promise<{ folder: string; remove(): Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-bench-pages-'))
  const root = fileURLToPath(new URL('.', import.meta.url))
  await build({
    root,
    configFile: false,
    logLevel: 'error',
    resolve: { conditions: ['holdfast-source', ...defaultClientConditions] },
    oxc: { jsx: { runtime: 'automatic' } },
    build: {
      outDir: folder,
      emptyOutDir: true,
      rolldownOptions: { input: SHOWN.map((name) => join(root, `${name}.html`)) },
    },
  })
  return { folder, remove: () => rm(folder, { recursive: true, force: true }) }
}
