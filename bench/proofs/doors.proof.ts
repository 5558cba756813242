/** A server under attack: large bodies at every webhook address, and one user with all that the limits allow. */
import { openDoorsLab } from '../doors/doors-lab.ts'
import { runLargestUser } from '../doors/run-largest-user.ts'
import { runWebhookFlood } from '../doors/run-webhook-flood.ts'
import { misses } from '../poller/finding.ts'
import { printFindings } from '../poller/print-findings.ts'

const lab = await openDoorsLab()
try {
  const largest = await runLargestUser(lab)
  console.log('\none user with all that the limits allow')
  printFindings(largest.found)
  const flood = await runWebhookFlood(lab)
  console.log('\n50 bodies of 16 MB at once, at every webhook address')
  printFindings(flood.found)
  if (misses([...largest.found, ...flood.found]).length > 0) process.exitCode = 1
  console.log(`\n${JSON.stringify({ ...flood.figures, ...largest.figures })}`)
} finally {
  await lab.close()
}
