import { rm } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { until } from '../crash/until.ts'
import { createFindings, type Finding } from '../poller/finding.ts'
import { makeProfile, openBrowser, signal, type Tab } from './open-browser.ts'
import { openHiddenTabs } from './open-hidden-tabs.ts'
import type { TabState } from './tab-state.ts'
import type { Person, Stage } from './tabs-lab.ts'

const VISIBLE_WITHIN_MS = 5_000
const HIDDEN_WITHIN_MS = 65_000
const RESTART_WITHIN_MS = 3_000
/** Chromium lets hidden tabs run for a minute before their timers go off once a minute. */
const THROTTLED_WITHIN_MS = 100_000
const TRIES = 5

/** Until the server has so many tasks. */
async function msUntilSent(person: Person, from: number, tasks: number, withinMs: number): Promise<number> {
  await until('the task', async () => (await person.tasks()).length >= tasks, {
    withinMs: withinMs * 2,
    everyMs: 20,
  }).catch(() => {})
  return Date.now() - from
}

/** The browser itself repeats a request whose connection was cut, even for a page that is gone: not before it is over. */
async function untilRefused({ network }: Stage, key: string): Promise<void> {
  const tries = () => network.calls.filter((call) => call.key === key).length
  await until('a request that was refused', async () => tries() > 0, { withinMs: 5_000 })
  for (let seen = 0; seen < tries(); await sleep(100)) seen = tries()
}

/** A submit without a network, and the tab that made it crashes: a tab that is left sends it, without any event to tell. */
export async function runLeftBehind(stage: Stage, { times }: { times: number }): Promise<Finding[]> {
  const found = createFindings('left behind')
  const { network } = stage
  const person = await stage.person('left behind')
  const browser = await openBrowser()
  const stateOf = ({ page }: Tab) => page.evaluate(() => window.lab.state())
  let made = 0

  /**
   * Chromium may send a request of a page that is gone once more, whatever we do: `keepalive` asks it to. That tells nothing
   * of those who are left, so it is done again.
   */
  async function crashAfterSubmit(tabs: Tab[], who: 'leader' | 'follower', withinMs: number) {
    for (let time = 0; time < TRIES; time++) {
      await fill(tabs)
      const ms = await crashOnce(tabs, who, withinMs)
      if (ms !== null) return ms
    }
    throw new Error(`Chromium itself sent what ${TRIES} crashed tabs had submitted.`)
  }

  async function fill(tabs: Tab[]) {
    const isHidden = tabs[0]?.hidden ?? false
    while (tabs.length < 3) {
      const tab = await browser.openTab(person.url)
      if (isHidden) await hide(tab)
      tabs.push(tab)
    }
  }

  async function hide(tab: Tab) {
    await tab.page.evaluate(() => window.lab.setHidden(true))
    tab.hidden = true
  }

  /** Null: the crashed tab's own request got through. */
  async function crashOnce(tabs: Tab[], who: 'leader' | 'follower', withinMs: number) {
    const states = await until(
      'tabs that are ready',
      async () => {
        const all = await Promise.all(tabs.map(stateOf))
        const isReady =
          all.some((one) => one.connection === 'push') && all.every((one) => one.restore === 'confirmed')
        return isReady && all
      },
      { withinMs: 20_000 },
    )
    const at = states.findIndex(({ role }) => role === who)
    const [tab] = tabs.splice(at, 1)
    if (!tab) throw new Error(`No tab is the ${who}.`)
    network.setOnline(false)
    const { key } = await tab.page.evaluate(() => window.lab.submit('left behind'))
    made++
    await untilRefused(stage, key)
    const killedAt = Date.now()
    signal(tab.pid, 'SIGKILL')
    network.setOnline(true)
    const ms = await msUntilSent(person, killedAt, made, withinMs)
    await tab.page.close()
    const isBySelf = network.calls.some(
      (call) => call.key === key && call.isForwarded && call.tab === tab.name,
    )
    return isBySelf ? null : ms
  }

  try {
    const tabs: Tab[] = []
    for (const who of ['follower', 'leader'] as const) {
      let most = 0
      for (let time = 0; time < times; time++) {
        most = Math.max(most, await crashAfterSubmit(tabs, who, VISIBLE_WITHIN_MS))
      }
      found.atMost(
        `ms until it was sent, the ${who} crashed, others visible, most of ${times}`,
        most,
        VISIBLE_WITHIN_MS,
      )
    }
    await fill(tabs)
    for (const tab of tabs) await hide(tab)
    const hidden = await crashAfterSubmit(tabs, 'follower', HIDDEN_WITHIN_MS)
    found.atMost('ms until it was sent, all others hidden from inside', hidden, HIDDEN_WITHIN_MS)
    found.equal('tasks', (await person.tasks()).length, made)
  } finally {
    network.setOnline(true)
    await browser.close()
  }
  let most = 0
  for (let time = 0; time < times; time++) most = Math.max(most, await restart(stage))
  found.atMost(`ms until it was sent, the browser started again, most of ${times}`, most, RESTART_WITHIN_MS)
  return found.all
}

/** The whole browser is killed. Measured from before the page is opened again. */
async function restart(stage: Stage): Promise<number> {
  const { network } = stage
  const person = await stage.person('left behind by a browser')
  const profile = await makeProfile()
  try {
    const first = await openBrowser({ profile })
    const { page } = await first.openTab(person.url)
    await page.waitForFunction(() => window.lab.state().connection === 'push')
    network.setOnline(false)
    const { key } = await page.evaluate(() => window.lab.submit('left behind'))
    await untilRefused(stage, key)
    await first.kill()
    network.setOnline(true)
    const second = await openBrowser({ profile })
    const openedAt = Date.now()
    await second.openTab(person.url)
    const ms = await msUntilSent(person, openedAt, 1, RESTART_WITHIN_MS)
    await second.close()
    return ms
  } finally {
    network.setOnline(true)
    await rm(profile, { recursive: true, force: true, maxRetries: 5 })
  }
}

/** The same with tabs that are truly hidden, so that the timers of those that are left go off once a minute. */
export async function runLeftBehindHidden(stage: Stage, { times }: { times: number }): Promise<Finding[]> {
  const found = createFindings('left behind, hidden')
  const person = await stage.person('left behind, hidden')
  const browser = await openHiddenTabs([])
  try {
    const tabs = [await browser.open(person.url), await browser.open(person.url)]
    const states = () => Promise.all(tabs.map(({ ask }) => ask<TabState | undefined>('window.lab?.state()')))
    await until(
      'a leader with a stream',
      async () => (await states()).some((state) => state?.connection === 'push'),
      { withinMs: 20_000 },
    )
    const sleptMs = async () =>
      Date.now() - ((await tabs[0]?.ask<number[]>('window.lab.ticks'))?.at(-1) ?? Date.now())
    await until('timers that sleep', async () => (await sleptMs()) > 15_000, {
      withinMs: THROTTLED_WITHIN_MS,
      everyMs: 500,
    })
    let most = 0
    for (let time = 1; time <= times; time++) {
      tabs.push(await browser.open(person.url))
      await until(
        'the new tab',
        async () => (await states()).every((state) => state?.restore === 'confirmed'),
        {
          withinMs: 10_000,
        },
      )
      // At any point of the minute.
      await sleep((time * 23_000) % 60_000)
      const tab = tabs.pop()
      stage.network.setOnline(false)
      const submitted = await tab?.ask<{ key: string }>("window.lab.submit('left behind')")
      await untilRefused(stage, submitted?.key ?? '')
      const killedAt = Date.now()
      tab?.kill()
      stage.network.setOnline(true)
      most = Math.max(most, await msUntilSent(person, killedAt, time, HIDDEN_WITHIN_MS))
    }
    const all = await states()
    found.equal('tabs that are visible', all.filter((state) => state?.visible).length, 0)
    found.atMost(`ms until it was sent, all others truly hidden, most of ${times}`, most, HIDDEN_WITHIN_MS)
    found.equal('tasks', (await person.tasks()).length, times)
    return found.all
  } finally {
    stage.network.setOnline(true)
    await browser.close()
  }
}
