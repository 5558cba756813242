import { describe } from 'vitest'
import { describeCreating } from './provider-contract/creating.ts'
import { describeFinding } from './provider-contract/finding.ts'
import { describePolling } from './provider-contract/polling.ts'
import { createBench, type ProviderWorld } from './provider-contract/provider-world.ts'
import { describeResults } from './provider-contract/results.ts'
import { describeWebhooks } from './provider-contract/webhooks.ts'

/**
 * What holds for every provider, against its simulator. `ProviderWorld` says what a test file has to tell about its
 * own; tests of what only one vendor does are beside its adapter.
 */
export function describeProvider(world: ProviderWorld): void {
  describe(`${world.name} as any provider`, () => {
    const bench = createBench(world)
    describeCreating(bench)
    describePolling(bench)
    describeResults(bench)
    describeFinding(bench)
    describeWebhooks(bench)
  })
}
