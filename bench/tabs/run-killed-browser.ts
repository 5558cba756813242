import { rm } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { until } from '../crash/until.ts'
import { createFindings, type Finding } from '../poller/finding.ts'
import { seededRandom } from '../schedule/seeded-random.ts'
import { makeProfile, openBrowser } from './open-browser.ts'
import type { Stage } from './tabs-lab.ts'

/** A wish made without a network, and a browser that is killed as soon as `submit()` has returned. */
export async function runKilledBrowser(
  stage: Stage,
  { times, seed }: { times: number; seed: number },
): Promise<Finding[]> {
  const found = createFindings('killed browser')
  const random = seededRandom(seed)
  let durable = 0
  let shownOffline = 0
  let sentOnce = 0
  let shown = 0
  for (let time = 0; time < times; time++) {
    // With none at all, what was not written by then is lost; with some, so is what was written but not yet kept.
    const delayMs = time % 2 === 0 ? 0 : random() * 40
    const outcome = await killOnce(stage, delayMs, time % 3 === 2)
    durable += Number(outcome.durable)
    shownOffline += Number(outcome.shownOffline)
    sentOnce += Number(outcome.sentOnce)
    shown += Number(outcome.shown)
  }
  found.equal('submits said to be kept', durable, times)
  found.equal('shown again after the restart, still without a network', shownOffline, times)
  found.equal('exactly one task once there is a network', sentOnce, times)
  found.equal('shown as that task, and nothing else', shown, times)
  return found.all
}

async function killOnce(stage: Stage, delayMs: number, offlineFromTheStart: boolean) {
  const person = await stage.person('killed')
  const profile = await makeProfile()
  try {
    if (offlineFromTheStart) stage.network.setOnline(false)
    const first = await openBrowser({ profile })
    const { page } = await first.openTab(person.url)
    if (!offlineFromTheStart) await page.waitForFunction(() => window.lab.state().connection === 'push')
    stage.network.setOnline(false)
    const { key, storage } = await page.evaluate(() => window.lab.submit('a lighthouse'))
    if (delayMs > 0) await sleep(delayMs)
    await first.kill()

    const second = await openBrowser({ profile })
    try {
      const tab = await second.openTab(person.url)
      const state = () => tab.page.evaluate(() => window.lab.state())
      const shownOffline = await until('the wish', async () => (await state()).unsent.includes(key), {
        withinMs: 5_000,
      }).catch(() => false)
      stage.network.setOnline(true)
      await tab.page.evaluate(() => window.dispatchEvent(new Event('online')))
      await until('the task', async () => (await person.tasks()).length > 0, { withinMs: 10_000 }).catch(
        () => {},
      )
      const shown = await until(
        'the tab to show it',
        async () => {
          const { tasks, unsent } = await state()
          return (
            unsent.length === 0 && tasks.join() === (await person.taskLines()).join() && tasks.length === 1
          )
        },
        { withinMs: 30_000, everyMs: 100 },
      ).catch(() => false)
      const tasks = await person.tasks()
      return {
        durable: storage === 'durable',
        shownOffline,
        sentOnce: tasks.length === 1 && tasks[0]?.placeholderId === key,
        shown,
      }
    } finally {
      await second.close()
    }
  } finally {
    stage.network.setOnline(true)
    await rm(profile, { recursive: true, force: true, maxRetries: 5 })
  }
}
