import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { FINISH_WITHIN_MS } from './crash-case.ts'
import type { WishScenario } from './scenario.ts'
import type { Stage } from './stage.ts'
import type { ServerProcess } from './start-server-process.ts'
import { until } from './until.ts'

interface Scene {
  scenario: WishScenario
  stage: Stage
  watched: ServerProcess
  storeFolder: string | undefined
}

const WITHIN = { withinMs: FINISH_WITHIN_MS }
/** By whoever has the answer, and by those who look for work, for events to tell and for files to copy. */
const NOTICED = [
  'holding on to an answer',
  'for work failed',
  'for webhooks to send failed',
  'for files to copy failed',
]
/** From the word that it stops until it waits for nothing but what is under way. */
const STOPPING_MS = 200

/** What happens around a server while it goes on with a wish, or is dead by now. */
export async function meanwhile(scene: Scene): Promise<void> {
  const { scenario, stage } = scene
  if (scenario.oddity === 'provider-away') await returnToProvider(stage)
  if (scenario.oddity === 'database-cut') await cutOff(scene)
  if (scenario.stopped === 'sending') await stopWhileSending(scene)
  if (scenario.stopped === 'copying') await stopWhileCopying(scene)
  if (scenario.told === 'late') {
    await until('the end of the task', () => hasEnded(stage), WITHIN)
    stage.listener?.listen()
  }
}

/** Whether a server has said so. Who is dead says no more. */
export async function untilSaid(server: ServerProcess, words: string): Promise<void> {
  await until(
    `a server that says "${words}"`,
    async () => !server.isAlive() || server.said().includes(words),
    WITHIN,
  )
}

/** What somebody could not finish telling the application is taken up after six minutes, which nobody needs to wait for. */
export async function passLeases(sql: Stage['sql']): Promise<void> {
  await sql`update holdfast.work set due_at = due_at - interval '6 min' where kind = 'deliver'`
}

/** Whether a file is on its way into the store. */
export async function isCopying(storeFolder = ''): Promise<boolean> {
  return (await readdir(join(storeFolder, 'incoming')).catch(() => [])).length > 0
}

/** When a create was tried in vain. The next try may be 16 s away, which nobody needs to wait for. */
async function returnToProvider({ sql, gate }: Stage): Promise<void> {
  await until(
    'a create in vain',
    async () => {
      // Whoever dies with the create marked leaves a task that ends as unknown, and is not tried again.
      const [tried] = await sql`
        select from holdfast.tasks t join holdfast.provider_jobs j on j.task_id = t.id
        where j.last_error is not null or t.finished_at is not null
      `
      return tried
    },
    WITHIN,
  )
  await gate.comeBack()
  await sql`update holdfast.work set due_at = least(due_at, now() + interval '1 s') where kind = 'send'`
}

/** In the middle of the transaction that writes the answer to the create down, and back when that was noticed. */
async function cutOff({ stage, watched }: Scene): Promise<void> {
  const { database, databaseGate, gate } = stage
  await untilSent(stage)
  const job = await database.hold('select from holdfast.provider_jobs for update')
  try {
    gate.release()
    const isWaiting = async () => (await job.waiting()) > 0
    await until('an answer that waits', async () => (await isWaiting()) || hasEnded(stage), WITHIN)
    // By somebody who found that a dead one had lost the answer.
    if (await hasEnded(stage)) return
    await databaseGate.cut()
  } finally {
    await job.release()
  }
  for (const words of NOTICED) await untilSaid(watched, words)
  await databaseGate.mend()
  await passLeases(stage.sql)
}

async function stopWhileSending({ stage, watched }: Scene): Promise<void> {
  await untilSent(stage)
  watched.stop()
  await untilSaid(watched, 'stopping in good order')
  await sleep(STOPPING_MS)
  stage.gate.release()
}

async function stopWhileCopying({ watched, storeFolder }: Scene): Promise<void> {
  await until('half a file', async () => !watched.isAlive() || (await isCopying(storeFolder)), WITHIN)
  watched.stop()
}

/** Whoever dies with the create marked and not sent leaves a task that ends as unknown. */
async function untilSent(stage: Stage): Promise<void> {
  const { simulator } = stage
  await until('the create at the provider', async () => simulator.creates() === 1 || hasEnded(stage), {
    ...WITHIN,
    everyMs: 2,
  })
}

async function hasEnded({ sql }: Stage): Promise<boolean> {
  const [ended] = await sql`select from holdfast.tasks where finished_at is not null`
  return ended !== undefined
}
