import type { Config } from '../config.ts'
import { readVersion } from '../version.ts'
import type { OpenProviders } from './open-providers.ts'

/** What runs here, for the one line at the start: who does what, and over what replicas share it. */
export function describeRunning(
  config: Config,
  { open, credits, lock, bus }: { open: OpenProviders; credits: boolean; lock: string; bus: string },
): Record<string, unknown> {
  return {
    version: readVersion(),
    types: Object.fromEntries(Object.entries(open.types).map(([name, { provider }]) => [name, provider])),
    lock,
    bus,
    progress: config.redisUrl ? 'redis' : 'memory',
    results: config.objects.kind,
    lanes: config.lanes ?? 'all',
    credits: credits ? 'on' : 'off',
    callbacks: config.publicUrl ? 'on' : 'off',
  }
}
