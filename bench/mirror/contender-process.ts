/** One contender in a process of its own: a warm-up, then what is measured. Its last line is a `ContenderReport`. */
import { openBare } from './open-bare.ts'
import { openHoldfast } from './open-holdfast.ts'
import type { ContenderReport, ContenderSettings } from './settings.ts'

const settings = JSON.parse(process.argv[2] ?? '') as ContenderSettings
const WARM_UP_BYTES = 64 * 1024 * 1024
const MB = 1024 * 1024

const contender = await (settings.contender === 'bare' ? openBare : openHoldfast)(settings)
try {
  const { files, bytes } = settings
  const warmUp =
    bytes > WARM_UP_BYTES
      ? await contender.prepare(4, WARM_UP_BYTES)
      : await contender.prepare(Math.min(files, 200), bytes)
  await warmUp.run()

  const before = process.memoryUsage.rss()
  let most = before
  const sampling = setInterval(() => {
    most = Math.max(most, process.memoryUsage.rss())
  }, 20)
  let seconds = 0
  let cpuSeconds = 0
  for (let done = 0; done < settings.passes; done++) {
    const pass = await contender.prepare(files, bytes)
    const cpu = process.cpuUsage()
    const began = performance.now()
    await pass.run()
    seconds += (performance.now() - began) / 1000 / settings.passes
    const { user, system } = process.cpuUsage(cpu)
    cpuSeconds += (user + system) / 1e6 / settings.passes
    await pass.check()
  }
  clearInterval(sampling)
  const report: ContenderReport = { seconds, rssGrowthMb: (most - before) / MB, cpuSeconds }
  console.log(JSON.stringify(report))
} finally {
  await contender.close()
}
process.exit(0)
