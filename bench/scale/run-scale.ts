import postgres from 'postgres'
import { cpuSecondsOf } from '../poll/cpu-seconds-of.ts'
import { readWorkStorage, type WorkStorage } from './read-work-storage.ts'
import type { ScaleRun, WindowReport } from './scale-run.ts'
import { seedTasks, seedWork } from './seed-tasks.ts'
import type { ScalePostgres } from './start-scale-postgres.ts'
import { startSubject } from './start-subject.ts'

export interface ScaleReport {
  run: ScaleRun
  windows: (WindowReport & { storage: WorkStorage })[]
  total: WindowReport
  before: WorkStorage
  postgresCpuSeconds: number
}

export async function runScale(
  run: ScaleRun,
  server: ScalePostgres,
  providerUrl: string,
  log: (line: string) => void,
): Promise<ScaleReport> {
  const sql = postgres(server.url, { max: 1, onnotice: () => {} })
  try {
    log(`${run.name}: writing ${run.tasks} tasks`)
    const seeded = await seedTasks(sql, run)
    const subject = await startSubject({ run, databaseUrl: server.url, providerUrl })
    try {
      const startsAt = await seedWork(sql, run, seeded)
      const before = await readWorkStorage(sql)
      await server.checkpoint()
      log(`${run.name}: the first polls are due in ${((startsAt - Date.now()) / 1000).toFixed(0)} s`)
      const cpuBefore = await cpuSecondsOf(server.pid)
      const windows: ScaleReport['windows'] = []
      const total = await subject.measure(startsAt, async (window) => {
        windows.push({ ...window, storage: await readWorkStorage(sql) })
        log(
          `${run.name}: window ${windows.length} of ${run.windows}, ${window.polls} polls, due lag p99 ${window.dueLagP99Ms} ms`,
        )
      })
      const cpuAfter = await cpuSecondsOf(server.pid)
      return { run, windows, total, before, postgresCpuSeconds: (cpuAfter ?? 0) - (cpuBefore ?? 0) }
    } finally {
      await subject.stop()
    }
  } finally {
    await sql.end({ timeout: 5 })
  }
}
