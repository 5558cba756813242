import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Pool } from 'undici'
import { cpuSecondsOf } from '../poll/cpu-seconds-of.ts'
import { residentBytes } from '../poll/resident-bytes.ts'
import { createFindings } from '../poller/finding.ts'
import { percentile } from '../stream/percentile.ts'
import type { DoorsLab } from './doors-lab.ts'

const FLOOD = fileURLToPath(new URL('./flood-process.ts', import.meta.url))
const BODY_BYTES = 16 * 1024 * 1024
const AT_ONCE = 50
const ASK_EVERY_MS = 5
const MB = 1024 * 1024

/** 50 bodies of 16 MB at once to every address for webhooks, while `/healthz` is asked. */
export async function runWebhookFlood({ server, webhookAddresses }: DoorsLab) {
  const found = createFindings('webhooks')
  const health = new Pool(server.url, { connections: 1 })
  const times: number[] = []
  const memory: number[] = []
  let isOver = false
  const ask = async () => {
    const began = performance.now()
    const { body } = await health.request({ method: 'GET', path: '/healthz' })
    await body.dump()
    times.push(performance.now() - began)
  }

  // Warm: what the first requests load is not what a flood costs.
  const addresses = await webhookAddresses()
  for (const url of addresses) await flood(url, { count: 4, bytes: 1_000 })
  for (let n = 0; n < 200; n += 1) await ask()
  // What the machine's other load alone does to it.
  times.length = 0
  for (let n = 0; n < 400; n += 1) {
    await ask()
    await sleep(ASK_EVERY_MS)
  }
  const quietP99Ms = percentile(times, 0.99)
  times.length = 0
  const cpuBefore = await cpuMsOf(server.pid)
  const before = await residentBytes(server.pid)

  const asking = (async () => {
    while (!isOver) {
      await ask()
      memory.push(await residentBytes(server.pid))
      await sleep(ASK_EVERY_MS)
    }
  })()
  const statuses: number[] = []
  for (const url of addresses) statuses.push(...(await flood(url, { count: AT_ONCE, bytes: BODY_BYTES })))
  const cpuMs = (await cpuMsOf(server.pid)) - cpuBefore
  isOver = true
  await asking
  await health.close()

  const figures = {
    addresses: addresses.length,
    bodies: statuses.length,
    refused: statuses.filter((status) => status === 0 || (status >= 400 && status < 600)).length,
    cpuMsPerBody: round(cpuMs / statuses.length),
    quietHealthzP99Ms: round(quietP99Ms),
    healthzP50Ms: round(percentile(times, 0.5)),
    healthzP99Ms: round(percentile(times, 0.99)),
    healthzMaxMs: round(Math.max(...times)),
    memoryMb: round((Math.max(...memory) - before) / MB),
  }
  found.equal('bodies refused', figures.refused, figures.bodies)
  found.atMost('/healthz meanwhile, p99 ms', figures.healthzP99Ms, 100)
  found.atMost('memory, MB more than before', figures.memoryMb, 64)
  return { found: found.all, figures }
}

async function flood(url: string, { count, bytes }: { count: number; bytes: number }): Promise<number[]> {
  const args = ['--conditions=holdfast-source', FLOOD, JSON.stringify({ url, count, bytes })]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  let said = ''
  child.stdout.setEncoding('utf8').on('data', (text) => {
    said += text
  })
  await once(child, 'close')
  return JSON.parse(said)
}

const cpuMsOf = async (pid: number) => ((await cpuSecondsOf(pid)) ?? Number.NaN) * 1_000
const round = (value: number) => Math.round(value * 10) / 10
