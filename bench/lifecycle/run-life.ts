import { cpuSecondsOf } from '../poll/cpu-seconds-of.ts'
import { openPostgresMeter } from '../poll/postgres-meter.ts'
import type { BenchPostgres } from '../poll/start-postgres.ts'
import { openCallers } from './callers.ts'
import { CALLERS, type ContenderName, type ContenderSettings } from './settings.ts'
import { startContender } from './start-contender.ts'
import type { VendorProcess } from './start-vendor-process.ts'
import { untilStored } from './until-stored.ts'

export interface LifeReport {
  tasks: number
  seconds: number
  /** Of the contender's process; of PostgreSQL, and Redis where it is used; of the vendor. */
  cpuSeconds: number
  storeCpuSeconds: number
  vendorCpuSeconds: number
  statements: number
  walBytes: number
  /** Every answer to a submit, with all callers in a closed loop. */
  createMs: number[]
  /** With one caller, and with so many a second in an open loop; empty where they were not measured. */
  aloneMs: number[]
  openMs: number[]
}

export interface LifeOptions {
  contender: ContenderName
  settings: ContenderSettings
  tasks: number
  warmUp: number
  /** Measures the answers to one caller and to an open loop afterwards. */
  answers: { alone: number; perSecond: number; seconds: number } | null
}

export interface Machinery {
  postgres: BenchPostgres
  vendor: VendorProcess
  redis: { pid: number; port: number } | null
}

/** Of 10,000 at 30 a second: slower than anybody. */
const WITHIN_MS = 6 * 60_000

/** One contender in a fresh process: a warm-up, the measured lives, and the answers to other kinds of load. */
export async function runLife(machinery: Machinery, options: LifeOptions): Promise<LifeReport> {
  const { postgres, vendor, redis } = machinery
  const { contender, settings, tasks, warmUp, answers } = options
  const database = new URL(settings.databaseUrl).pathname.slice(1)
  const meter = openPostgresMeter(postgres.meterUrl, database)
  const server = await startContender(contender, settings)
  const callers = await openCallers(server.url, { inConversation: settings.extra === 'conversation' })

  async function read() {
    const [own, store, queue, ofVendor, reading] = await Promise.all([
      cpuSecondsOf(server.pid),
      cpuSecondsOf(postgres.pid),
      contender === 'bullmq' && redis ? cpuSecondsOf(redis.pid) : 0,
      cpuSecondsOf(vendor.pid),
      meter.read(),
    ])
    return { own: own ?? 0, store: (store ?? 0) + (queue ?? 0), ofVendor: ofVendor ?? 0, ...reading }
  }

  try {
    // The warm-up brings the full-page images after the checkpoint out of the way.
    await postgres.checkpoint()
    await vendor.reset()
    const first = await callers.closedLoop({ tasks: warmUp, callers: CALLERS })
    await untilStored(vendor, callers, first.submitted, WITHIN_MS)

    await vendor.reset()
    const before = await read()
    const began = performance.now()
    const { submitted, ms } = await callers.closedLoop({ tasks, callers: CALLERS })
    const storedAt = await untilStored(vendor, callers, submitted, WITHIN_MS)
    const after = await read()

    const alone = answers ? await callers.closedLoop({ tasks: answers.alone, callers: 1 }) : null
    const open = answers ? await callers.openLoop(answers) : null
    return {
      tasks,
      seconds: (storedAt - began) / 1_000,
      cpuSeconds: after.own - before.own,
      storeCpuSeconds: after.store - before.store,
      vendorCpuSeconds: after.ofVendor - before.ofVendor,
      statements: after.statements - before.statements,
      walBytes: after.walBytes - before.walBytes,
      createMs: ms,
      aloneMs: alone?.ms ?? [],
      openMs: open?.ms ?? [],
    }
  } catch (error) {
    throw new Error(`${contender} did not finish. The end of its log:\n${server.said().slice(-3_000)}`, {
      cause: error,
    })
  } finally {
    await callers.close()
    await server.kill()
    await meter.close()
  }
}
