import { setTimeout as sleep } from 'node:timers/promises'
import { until } from '../crash/until.ts'
import { createFindings, type Finding } from '../poller/finding.ts'
import { openBrowser, type Tab } from './open-browser.ts'
import { createLedger } from './submit-ledger.ts'
import type { Stage } from './tabs-lab.ts'

/** How often the lead may change in the first span, and in the second. */
const AT_FIRST = 6
const LATER = 1

/**
 * A tab that no message reaches takes every leader for dead and steals the lead; the others hear it well. They must
 * come to rest, and what any of them submits is sent once.
 */
export async function runDeafTab(
  stage: Stage,
  { tabs, spanMs }: { tabs: number; spanMs: number },
): Promise<Finding[]> {
  const found = createFindings('deaf tab')
  const person = await stage.person('deaf')
  const browser = await openBrowser()
  const ledger = createLedger()
  const opened: Tab[] = []
  const stateOf = ({ page }: Tab) => page.evaluate(() => window.lab.state())
  const epochs = () => new Set(person.streams().map(({ epoch }) => epoch)).size

  async function watch() {
    const before = epochs()
    const until = Date.now() + spanMs
    for (const tab of opened) {
      const { key, storage } = await tab.page.evaluate(() => window.lab.submit('meanwhile'))
      ledger.made(key, 'meanwhile', tab.name)
      ledger.kept(key, storage)
      await sleep(spanMs / (2 * opened.length))
    }
    await sleep(until - Date.now())
    return epochs() - before
  }

  try {
    for (let n = 0; n < tabs; n++) opened.push(await browser.openTab(person.url))
    const isLed = async () =>
      (await Promise.all(opened.map(stateOf))).some((one) => one.connection === 'push')
    await until('a leader with a stream', isLed, { withinMs: 20_000 })
    const deaf = await browser.openTab(person.url, { deaf: 'yes' })
    opened.push(deaf)

    const minutes = spanMs / 60_000
    found.atMost(`leaders in the first ${minutes} min`, await watch(), AT_FIRST)
    found.atMost(`leaders in the next ${minutes} min`, await watch(), LATER)
    const differing = async (which: Tab[]) => {
      const lines = (await person.taskLines()).join()
      const states = await Promise.all(which.map(stateOf))
      return states.filter(({ tasks, unsent }) => tasks.join() !== lines || unsent.length > 0).length
    }
    await until(
      'all equal',
      async () =>
        (await person.tasks()).every(({ finishedAt }) => finishedAt !== null) &&
        (await differing(opened)) === 0,
      { withinMs: 60_000, everyMs: 200 },
    ).catch(() => {})
    const tasks = await person.tasks()
    const { lost, doubled } = ledger.judge(tasks, stage.network.calls)
    found.equal('tasks', tasks.length, 2 * opened.length)
    found.equal('submits lost', lost.length, 0)
    found.equal('submits sent twice', doubled.length, 0)
    found.equal(
      'other tabs that differ from the server',
      await differing(opened.filter((tab) => tab !== deaf)),
      0,
    )
    found.equal('deaf tabs that differ from the server', await differing([deaf]), 0)
    return found.all
  } finally {
    await browser.close()
  }
}
