/** The vendor in a process of its own. It counts the files that were fetched, each once. */
import { startVendor } from './vendor.ts'
import type { VendorAnswer, VendorOrder } from './vendor-messages.ts'

/** More than any contender copies at a time. */
const REMEMBERED = 100

const fetched = new Set<string>()
let waiting: number | null = null
const answer = (given: VendorAnswer) => process.send?.(given)

function look(): void {
  if (waiting === null || fetched.size < waiting) return
  waiting = null
  answer({ kind: 'served', last: [...fetched].slice(-REMEMBERED).reverse() })
}

const { url } = await startVendor({
  onFile(prompt) {
    fetched.add(prompt)
    look()
  },
})
process.on('message', (order: VendorOrder) => {
  if (order.kind === 'reset') {
    fetched.clear()
    answer({ kind: 'reset' })
  } else {
    waiting = order.files
    look()
  }
})
process.on('disconnect', () => process.exit(0))
answer({ kind: 'ready', url })
