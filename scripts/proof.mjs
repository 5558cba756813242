/** `npm run proof -- NAME`: shows on a running system that a promise is kept. */
import { runByName } from './run-by-name.mjs'

await runByName('bench/proofs', 'proof')
