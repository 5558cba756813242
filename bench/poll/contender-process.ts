/** One contender in a process of its own: seed, a warm-up pass, measured passes. Its last line is a `PassReport`. */

import type { OpenContender } from './contender.ts'
import { openPool } from './http-client.ts'
import { measurePasses } from './measure-passes.ts'
import type { ContenderName, ContenderSettings } from './settings.ts'

/** Loaded on demand, so that nobody carries the others' code. */
const OPEN: Record<ContenderName, () => Promise<OpenContender>> = {
  bare: async () => (await import('./contenders/bare.ts')).openBare,
  holdfast: async () => (await import('./contenders/holdfast.ts')).openHoldfast,
  bullmq: async () => (await import('./contenders/bullmq.ts')).openBullmq,
  pgBoss: async () => (await import('./contenders/pg-boss.ts')).openPgBoss,
  pgBossBulk: async () => (await import('./contenders/pg-boss-bulk.ts')).openPgBossBulk,
  graphileWorker: async () => (await import('./contenders/graphile-worker.ts')).openGraphileWorker,
  naive: async () => (await import('./contenders/naive.ts')).openNaive,
}

const settings = JSON.parse(process.argv[2] ?? '') as ContenderSettings
const pool = openPool(settings.providerUrl)
const open = await OPEN[settings.contender]()
const contender = await open(settings, pool)
try {
  console.log(JSON.stringify(await measurePasses(contender, settings)))
} finally {
  await contender.close()
  await pool.close()
}
// Peers leave timers behind that would keep the process for a while.
process.exit(0)
