import { startChild } from '../stream/child.ts'
import type { VendorAnswer, VendorOrder } from './vendor-messages.ts'

export type VendorProcess = Awaited<ReturnType<typeof startVendorProcess>>

export async function startVendorProcess() {
  const child = await startChild<VendorOrder, VendorAnswer>('../lifecycle/vendor-process.ts', {})
  return {
    pid: child.pid,
    url: child.ready.kind === 'ready' ? child.ready.url : '',
    /** Forgets which files were fetched. */
    reset: () => child.ask({ kind: 'reset' }, 'reset'),
    /** Resolves when so many different files were fetched, with the prompts of the last ones. */
    async served(files: number): Promise<string[]> {
      return (await child.ask({ kind: 'served', files }, 'served')).last
    },
    stop: child.stop,
  }
}
