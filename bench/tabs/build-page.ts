import { fileURLToPath } from 'node:url'
import { build, defaultClientConditions } from 'vite'

const ENTRY = fileURLToPath(new URL('./lab-page.ts', import.meta.url))

/** The page's script with the client's sources in it, as one file. */
export async function buildPage(): Promise<string> {
  const built = await build({
    configFile: false,
    logLevel: 'error',
    resolve: { conditions: ['holdfast-source', ...defaultClientConditions] },
    build: { write: false, minify: false, lib: { entry: ENTRY, formats: ['es'], fileName: 'page' } },
  })
  const [result] = Array.isArray(built) ? built : [built]
  const chunk = result && 'output' in result ? result.output[0] : undefined
  if (!chunk) throw new Error('Vite built nothing.')
  return chunk.code
}
