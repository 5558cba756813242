import type { Config } from '../config.ts'
import type { MirrorOptions } from '../work/copy/copy-options.ts'

/** What the settings say about the copying of results; the rest is by default. */
export function mirrorOptions({ mirror }: Config): Partial<MirrorOptions> {
  const { maxBytes, concurrency } = mirror
  return { ...(maxBytes ? { maxBytes } : {}), ...(concurrency ? { concurrency } : {}) }
}
