import type { Contender } from './contender.ts'
import { cpuSecondsOf } from './cpu-seconds-of.ts'
import { openPostgresMeter } from './postgres-meter.ts'
import { createProviderCounter } from './provider-counter.ts'
import type { ContenderSettings } from './settings.ts'

export interface PassReport {
  polls: number
  seconds: number
  /** Of the contender's own process, both user and system. */
  cpuSeconds: number
  /** Of the servers it uses: PostgreSQL and Redis, and the provider, which costs everyone about the same. */
  storeCpuSeconds: number
  providerCpuSeconds: number
  /** Null for those without PostgreSQL, as are the others. */
  walBytes: number | null
  statements: number | null
  checkpoints: number | null
}

/** The provider may be asked twice about a few tasks (a retry, a claim that lapsed), but not about many. */
const TOLERATED_REPEATS = 0.001

/**
 * One pass to warm up, which also brings the full-page images of the checkpoint before it out of the way; then
 * passes until they have taken long enough. Making tasks due again in between is not measured.
 */
export async function measurePasses(contender: Contender, settings: ContenderSettings): Promise<PassReport> {
  const { tasks } = settings
  const provider = createProviderCounter(settings.providerUrl)
  const database = settings.databaseUrl && new URL(settings.databaseUrl).pathname.slice(1)
  const meter = database ? openPostgresMeter(settings.meterUrl, database) : null
  const report = {
    polls: 0,
    seconds: 0,
    cpuSeconds: 0,
    storeCpuSeconds: 0,
    providerCpuSeconds: 0,
    walBytes: 0,
    statements: 0,
    checkpoints: 0,
  }

  async function pass(measured: boolean): Promise<void> {
    const countBefore = await provider.count()
    const meterBefore = await meter?.read()
    const serversBefore = await readServers(settings.pids)
    const cpuBefore = process.cpuUsage()
    const began = performance.now()
    await contender.pollAll()
    const seconds = (performance.now() - began) / 1_000
    const cpu = process.cpuUsage(cpuBefore)
    const serversAfter = await readServers(settings.pids)
    const meterAfter = await meter?.read()

    const polls = (await provider.count()) - countBefore
    const waiting = await contender.countWaiting()
    if (polls < tasks || polls > tasks * (1 + TOLERATED_REPEATS) || waiting !== tasks) {
      throw new Error(
        `${settings.contender} was to poll ${tasks} tasks once: the provider saw ${polls} polls, and ${waiting} tasks wait for a later time.`,
      )
    }
    if (!measured) return
    report.polls += tasks
    report.seconds += seconds
    report.cpuSeconds += (cpu.user + cpu.system) / 1e6
    report.storeCpuSeconds += serversAfter.store - serversBefore.store
    report.providerCpuSeconds += serversAfter.provider - serversBefore.provider
    if (!meterBefore || !meterAfter) return
    report.walBytes += meterAfter.walBytes - meterBefore.walBytes
    report.statements += meterAfter.statements - meterBefore.statements
    report.checkpoints += meterAfter.checkpoints - meterBefore.checkpoints
  }

  try {
    await contender.seed()
    await pass(false)
    while (report.seconds * 1_000 < settings.measureForMs) {
      await contender.makeDue()
      await pass(true)
    }
    return meter ? report : { ...report, walBytes: null, statements: null, checkpoints: null }
  } finally {
    await meter?.close()
  }
}

async function readServers(pids: ContenderSettings['pids']) {
  const [provider, postgres, redis] = await Promise.all([
    cpuSecondsOf(pids.provider),
    cpuSecondsOf(pids.postgres),
    cpuSecondsOf(pids.redis),
  ])
  return { provider: provider ?? 0, store: (postgres ?? 0) + (redis ?? 0) }
}
