import { setTimeout as sleep } from 'node:timers/promises'
import type { Task } from '@holdfast/shared'
import type {} from './lab-page.ts'
import { type LabBrowser, signal, type Tab } from './open-browser.ts'
import { isOpen } from './streams-in-log.ts'
import type { TabState } from './tab-state.ts'
import type { Person, Stage } from './tabs-lab.ts'

export type Act = 'open' | 'close' | 'crash' | 'stop' | 'wake' | 'hide' | 'show' | 'reload' | 'offline'

/** How long nobody had a stream after something happened to the leader. */
export interface Gap {
  act: Act
  /** Whether somebody was told that the lead is free; else it had to be found out. */
  freed: boolean
  ms: number
}

export interface ActsOptions {
  stage: Stage
  browser: LabBrowser
  person: Person
  random(): number
  tabs: number
  /** How many of the tasks take long, from 0 to 1. */
  slow: number
  say(what: string): void
}

/** A tab that runs answers in milliseconds; on a busy machine in a second or two. */
const ANSWER_WITHIN_MS = 5_000
/** When it is certain that something went wrong. */
const GIVE_UP_MS = 15_000
/** A tab that comes anew gets the last hundred that have ended: with more, no two tabs need be equal. */
const MOST_TASKS = 90

export function createActs({ stage, browser, person, random, tabs: wanted, slow, say }: ActsOptions) {
  let tabs: Tab[] = []
  const gaps: Gap[] = []
  const kept: string[] = []
  let submits = 0

  const any = <T>(list: T[]): T | undefined => list[Math.floor(random() * list.length)]
  const running = () => tabs.filter(({ stopped }) => !stopped)

  async function ask(tab: Tab): Promise<TabState | null> {
    const answer = tab.page.evaluate(() => window.lab.state()).catch(() => null)
    return Promise.race([answer, sleep(ANSWER_WITHIN_MS, null)])
  }

  async function askAll() {
    const asked = running()
    const states = await Promise.all(asked.map(ask))
    return asked.flatMap((tab, index) => {
      const state = states[index]
      return state ? [{ tab, state }] : []
    })
  }

  /** The tab that leads and, by the server's account, has the one stream. */
  async function leader(): Promise<Tab | null> {
    const open = person.streams().filter(isOpen)
    const leading = (await askAll()).filter(({ state }) => state.role === 'leader')
    const [only] = leading
    if (!only || leading.length > 1 || open.length !== 1 || open[0]?.epoch !== only.state.epoch) return null
    return only.tab
  }

  /** Prefers the leader: what happens to others changes little. */
  async function choose(from: Tab[]): Promise<{ tab: Tab; leads: boolean; another: boolean } | null> {
    const all = await askAll()
    const first = await leader()
    const tab = first && from.includes(first) && random() < 0.7 ? first : any(from)
    if (!tab) return null
    const another = all.some(
      ({ tab: other, state }) =>
        other !== tab && state.visible && state.connection === 'follower' && state.restore === 'confirmed',
    )
    say(`    ${tab.name}${tab === first ? ', which leads' : first ? '' : ', nobody leads'}`)
    if (!first) {
      const open = person.streams().filter(isOpen)
      say(`    streams of epochs ${open.map(({ epoch }) => epoch).join()}`)
      for (const { tab: one, state } of all) {
        const { role, reason, level, connection, restore, epoch, visible } = state
        say(`    ${one.name}: ${[role, reason, level, connection, restore, epoch, visible].join()}`)
      }
    }
    return { tab, leads: tab === first, another }
  }

  /** Waits for the next stream, where the lead was lost, a visible tab could take it and the network was up. */
  async function measure(
    act: Act,
    chosen: { leads: boolean; another: boolean },
    freed: boolean,
    run: () => Promise<void>,
  ) {
    const isMeasured = chosen.leads && chosen.another && stage.network.isOnline()
    const streams = person.streams().length
    const at = Date.now()
    await run()
    if (!isMeasured) return
    for (;;) {
      const next = person.streams()[streams]
      const ms = (next?.openedAt ?? Date.now()) - at
      if (next || ms > GIVE_UP_MS) {
        gaps.push({ act, freed, ms })
        say(`    ${ms} ms until the next stream (${act}, ${freed ? 'freed' : 'to be found out'})`)
        return
      }
      await sleep(10)
    }
  }

  async function open() {
    tabs.push(await browser.openTab(person.url))
  }

  const drop = (tab: Tab) => {
    tabs = tabs.filter((other) => other !== tab)
  }

  /** A stopped tab may be the next in the queue for the lock, and a crashed one without locks tells nobody. */
  const isTold = async (act: Act) => {
    if (tabs.some(({ stopped }) => stopped)) return false
    return act !== 'crash' || (await askAll())[0]?.state.level === 'web-lock'
  }

  const perform: Record<Act, () => Promise<void>> = {
    open,
    async close() {
      const chosen = await choose(running())
      if (!chosen) return
      await measure('close', chosen, await isTold('close'), async () => {
        drop(chosen.tab)
        await chosen.tab.page.close()
      })
    },
    async crash() {
      const chosen = await choose(tabs)
      if (!chosen) return
      await measure('crash', chosen, await isTold('crash'), async () => {
        drop(chosen.tab)
        signal(chosen.tab.pid, 'SIGKILL')
      })
      await chosen.tab.page.close()
    },
    async stop() {
      const chosen = await choose(running())
      if (!chosen) return
      await measure('stop', chosen, false, async () => {
        chosen.tab.stopped = true
        signal(chosen.tab.pid, 'SIGSTOP')
      })
    },
    async wake() {
      const tab = any(tabs.filter(({ stopped }) => stopped))
      if (tab) wake(tab)
    },
    async hide() {
      const chosen = await choose(running().filter(({ hidden }) => !hidden))
      if (chosen) await setHidden(chosen.tab, true)
    },
    async show() {
      const tab = any(running().filter(({ hidden }) => hidden))
      if (tab) await setHidden(tab, false)
    },
    async reload() {
      const chosen = await choose(running())
      if (!chosen) return
      await measure('reload', chosen, await isTold('reload'), async () => {
        await chosen.tab.page.reload()
        chosen.tab.hidden = false
      })
    },
    async offline() {
      stage.network.setOnline(false)
      await sleep(500 + random() * 3_000)
      await online()
    },
  }

  async function online() {
    stage.network.setOnline(true)
    // As the browser does when the machine has a network again.
    await Promise.all(running().map((tab) => tell(tab, () => window.dispatchEvent(new Event('online')))))
  }

  const tell = (tab: Tab, what: () => void) =>
    Promise.race([tab.page.evaluate(what).catch(() => {}), sleep(ANSWER_WITHIN_MS)])

  function wake(tab: Tab) {
    signal(tab.pid, 'SIGCONT')
    tab.stopped = false
  }

  async function setHidden(tab: Tab, hidden: boolean) {
    await tell(tab, hidden ? () => window.lab.setHidden(true) : () => window.lab.setHidden(false))
    tab.hidden = hidden
  }

  const wakeAll = () => {
    for (const tab of tabs) if (tab.stopped) wake(tab)
  }

  return {
    gaps,
    open,
    leader,
    wakeAll,
    async perform(act: Act) {
      say(`${act} (${tabs.length} tabs, ${tabs.filter(({ stopped }) => stopped).length} stopped)`)
      await perform[act]()
    },
    /** Never all tabs stopped or closed: somebody has to be there to see it through. */
    possible(): Act[] {
      const stopped = tabs.length - running().length
      const acts: Act[] = ['offline', 'reload']
      if (tabs.length < wanted) acts.push('open')
      if (running().length > 3) acts.push('close', 'crash')
      if (running().length > 3 && stopped < 3) acts.push('stop')
      if (stopped > 0) acts.push('wake')
      if (running().some(({ hidden }) => !hidden)) acts.push('hide')
      if (running().some(({ hidden }) => hidden)) acts.push('show')
      return acts
    },
    /** By any tab that runs. Whatever is reported as kept must be sent, once. */
    async submit() {
      const tab = any(running())
      if (!tab || submits >= MOST_TASKS) return
      const prompt = `wish ${++submits}${random() < slow ? ' [slow]' : ''}`
      const answer = tab.page.evaluate((text) => window.lab.submit(text), prompt).catch(() => null)
      const submission = await Promise.race([answer, sleep(ANSWER_WITHIN_MS, null)])
      if (submission?.storage === 'durable') kept.push(submission.key)
    },
    /** Everything runs, can be seen and has a network. */
    async calm() {
      wakeAll()
      await online()
      for (const tab of tabs) if (tab.hidden) await setHidden(tab, false)
      while (tabs.length < wanted) await open()
    },
    states: async () => (await askAll()).map(({ state }) => state),
    /** The tabs that show something else than this, or do not answer. */
    async differing(truth: string[]): Promise<string[]> {
      const all = await askAll()
      return tabs
        .filter((tab) => {
          const state = all.find((one) => one.tab === tab)?.state
          return state?.tasks.join() !== truth.join() || state.unsent.length > 0
        })
        .map((tab) => {
          const state = all.find((one) => one.tab === tab)?.state
          const [mine, theirs] = [new Set(state?.tasks), new Set(truth)]
          say(`${tab.name} ${JSON.stringify({ ...state, tasks: undefined })}`)
          say(`    has ${[...mine].filter((line) => !theirs.has(line)).join()}`)
          say(`    lacks ${[...theirs].filter((line) => !mine.has(line)).join()}`)
          return tab.name
        })
    },
    lost: (tasks: Task[]) =>
      kept.filter((key) => tasks.filter(({ placeholderId }) => placeholderId === key).length !== 1),
  }
}
