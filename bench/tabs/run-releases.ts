import { setTimeout as sleep } from 'node:timers/promises'
import { until } from '../crash/until.ts'
import { createFindings, type Finding } from '../poller/finding.ts'
import { openBrowser, type Tab } from './open-browser.ts'
import { createLedger } from './submit-ledger.ts'
import type { Stage } from './tabs-lab.ts'

export interface ReleasesSize {
  /** Of each release. */
  tabs: number
  watchMs: number
}

const SYNCS_A_MINUTE = 4
/** Until those that came last have asked for everything. */
const SETTLES_MS = 5_000

/**
 * An app was updated while some of its tabs were open: two releases whose tabs do not understand what the other's say
 * about tasks. One of them leads and has the stream; those of the other release ask the server for themselves.
 */
export async function runReleases(stage: Stage, { tabs, watchMs }: ReleasesSize): Promise<Finding[]> {
  const found = createFindings('two releases')
  const person = await stage.person('two releases')
  const browser = await openBrowser()
  const ledger = createLedger()
  const opened: Tab[] = []
  const stateOf = ({ page }: Tab) => page.evaluate(() => window.lab.state())
  const changesOf = ({ page }: Tab) => page.evaluate(() => window.lab.connectionChanges)

  async function open(release: string) {
    for (let n = 0; n < tabs; n++) opened.push(await browser.openTab(person.url, { release }))
  }

  async function submitIn(tab: Tab | undefined, prompt: string) {
    if (!tab) return
    const { key, storage } = await tab.page.evaluate((text) => window.lab.submit(text), prompt)
    ledger.made(key, prompt, tab.name)
    ledger.kept(key, storage)
  }

  async function differing(): Promise<number> {
    const lines = (await person.taskLines()).join()
    const states = await Promise.all(opened.map(stateOf))
    return states.filter(({ tasks, unsent }) => tasks.join() !== lines || unsent.length > 0).length
  }

  const allEqual = (withinMs: number) =>
    until(
      'all equal and all ended',
      async () =>
        (await person.tasks()).every(({ finishedAt }) => finishedAt !== null) && (await differing()) === 0,
      { withinMs, everyMs: 200 },
    ).catch(() => {})

  try {
    await open('current')
    const isLed = async () =>
      (await Promise.all(opened.map(stateOf))).some((one) => one.connection === 'push')
    await until('a leader with a stream', isLed, { withinMs: 20_000 })
    await open('next')
    await submitIn(opened[0], 'by this release')
    await submitIn(opened.at(-1), 'by the next release')
    await allEqual(60_000)
    await sleep(SETTLES_MS)

    const from = Date.now()
    const before = await Promise.all(opened.map(changesOf))
    const epochs = new Set(person.streams().map(({ epoch }) => epoch)).size
    await sleep(watchMs)
    const syncs = (release: string) =>
      stage.network.calls.filter(
        (call) => call.at >= from && call.path === '/v1/sync' && call.release === release,
      ).length
    const changes = (await Promise.all(opened.map(changesOf))).map((count, tab) => count - (before[tab] ?? 0))
    const perMinute = (count: number) => (count / watchMs) * 60_000
    // Which minute it is decides about one more or less.
    found.atMost('syncs a minute of the release that does not lead', perMinute(syncs('next')), SYNCS_A_MINUTE)
    found.atMost('syncs a minute of the release that leads', perMinute(syncs('current')), SYNCS_A_MINUTE)
    found.equal('changes of the connection in any tab', Math.max(...changes), 0)
    found.equal(
      'leaders that came meanwhile',
      new Set(person.streams().map(({ epoch }) => epoch)).size - epochs,
      0,
    )

    // Now the release that led goes.
    await submitIn(opened[1], 'by this release, again')
    await submitIn(opened.at(-2), 'by the next release, again')
    for (const tab of opened.splice(0, tabs)) await tab.page.close()
    await allEqual(90_000)
    const tasks = await person.tasks()
    const { lost, doubled } = ledger.judge(tasks, stage.network.calls)
    found.equal('tabs that differ from the server', await differing(), 0)
    found.equal('tasks', tasks.length, 4)
    found.equal('submits lost', lost.length, 0)
    found.equal('submits sent twice', doubled.length, 0)
    return found.all
  } finally {
    await browser.close()
  }
}
