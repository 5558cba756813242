import { fileURLToPath } from 'node:url'
import { build, defaultClientConditions, type Plugin } from 'vite'
import type { Scripts } from './serve-page.ts'

const ENTRY = fileURLToPath(new URL('./lab-page.ts', import.meta.url))

/** The page's script as it is, and as the next release. */
export async function buildPages(): Promise<Scripts> {
  return { current: await buildPage(), next: await buildPage(ENTRY, withNextProtocol()) }
}

/** The page's script with the client's sources in it, as one file. */
export async function buildPage(entry = ENTRY, ...plugins: Plugin[]): Promise<string> {
  const built = await build({
    configFile: false,
    logLevel: 'error',
    plugins,
    resolve: { conditions: ['holdfast-source', ...defaultClientConditions] },
    build: {
      write: false,
      minify: false,
      lib: { entry, formats: ['es'], fileName: 'page' },
      // What is loaded on demand is in it as well.
      rolldownOptions: { output: { codeSplitting: false } },
    },
  })
  const [result] = Array.isArray(built) ? built : [built]
  const chunk = result && 'output' in result ? result.output[0] : undefined
  if (!chunk) throw new Error('Vite built nothing.')
  return chunk.code
}

/** A release whose tabs speak a protocol that this one does not know. */
function withNextProtocol(): Plugin {
  let isDone = false
  return {
    name: 'next-protocol',
    transform(code, id) {
      if (!id.endsWith('/tabs/tab-message.ts')) return
      return code.replace(/(const PROTOCOL = )(\d+)/, (_, start, number) => {
        isDone = true
        return `${start}${Number(number) + 1}`
      })
    },
    buildEnd(error) {
      if (!error && !isDone) throw new Error('The number of the protocol is not where it was.')
    },
  }
}
