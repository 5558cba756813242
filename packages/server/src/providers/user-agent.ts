import { createRequire } from 'node:module'

const { version } = createRequire(import.meta.url)('../../package.json') as { version: string }

/** Who we are to vendors. */
export const USER_AGENT = `Holdfast/${version}`
