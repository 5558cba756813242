import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Task } from '@holdfast/shared'
import type {} from './lab-page.ts'
import { type LabBrowser, signal, type Tab } from './open-browser.ts'
import { isOpen } from './streams-in-log.ts'
import { createLedger } from './submit-ledger.ts'
import type { TabState } from './tab-state.ts'
import type { Person, Stage } from './tabs-lab.ts'

export type Act =
  | 'open'
  | 'close'
  | 'crash'
  | 'stop'
  | 'wake'
  | 'hide'
  | 'show'
  | 'reload'
  | 'offline'
  | 'log-out'
  | 'discard'
  | 'disk-full'
  | 'disk-free'
  | 'clock-off'
  | 'clock-right'

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
  level: 'web-lock' | 'indexeddb' | 'every-tab'
  random(): number
  tabs: number
  /** How many of the tasks that are submitted now take long, from 0 to 1. */
  slow(): number
  say(what: string): void
}

/** A tab that runs answers in milliseconds; on a busy machine in a second or two. */
const ANSWER_WITHIN_MS = 5_000
/** When it is certain that something went wrong. */
const GIVE_UP_MS = 15_000
/** A tab that comes anew gets the last hundred that have ended: with more, no two tabs need be equal. */
const MOST_TASKS = 90
const CLOCK_OFF_MS = 36 * 60 * 60 * 1_000
/** A page does again what the disk would not take when it looks next. */
const WRITTEN_AGAIN_MS = 3_000

export function createActs({ stage, browser, person, level, random, tabs: wanted, slow, say }: ActsOptions) {
  let tabs: Tab[] = []
  const gaps: Gap[] = []
  const ledger = createLedger()
  const { network } = stage
  let submits = 0
  /** Whether the disk is full for tabs that come anew, too. */
  let isDiskFull = false
  let fullUntil = 0

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
    // Without Web Locks, nobody can take the lead while nothing can be written.
    const isDecidable = level === 'web-lock' || !tabs.some(({ full }) => full)
    const isMeasured = chosen.leads && chosen.another && network.isOnline() && isDecidable
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
    const tab = await browser.openTab(person.url)
    tabs.push(tab)
    if (isDiskFull) await setFull(tab, true)
  }

  const drop = (tab: Tab, how: string) => {
    tabs = tabs.filter((other) => other !== tab)
    ledger.ended(tab.name, how)
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
        drop(chosen.tab, 'closed')
        await chosen.tab.page.close()
      })
    },
    async crash() {
      const chosen = await choose(tabs)
      if (!chosen) return
      await measure('crash', chosen, await isTold('crash'), async () => {
        drop(chosen.tab, 'crashed')
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
        ledger.ended(chosen.tab.name, 'reloaded')
        await chosen.tab.page.reload()
        Object.assign(chosen.tab, { hidden: false, full: false, clockOff: 0 })
        if (isDiskFull) await setFull(chosen.tab, true)
      })
    },
    async offline() {
      network.setOnline(false)
      await sleep(500 + random() * 3_000)
      await online()
    },
    /** In one tab, which goes for all. What waits to be sent stays for the next log-in. */
    async 'log-out'() {
      const chosen = await choose(running())
      if (!chosen) return
      const isOffline = random() < 0.5
      if (isOffline) {
        network.setOnline(false)
        for (let n = 0; n < 2; n++) await submit()
      }
      ledger.ended(null, 'signed out')
      await tell(chosen.tab, () => window.lab.logOut())
      await sleep(200 + random() * 800)
      // Other tabs may have heard of it later than the call has returned.
      ledger.ended(null, 'signed out')
      if (isOffline) await online()
      await signInAll()
    },
    /** By a person who sees the card of something that is not sent, in any tab. */
    async discard() {
      // Either nothing gets through, or the request is under way just then.
      const isUnderWay = random() < 0.4
      if (isUnderWay) network.setDelay(600)
      else network.setOnline(false)
      for (let n = 0; n < 2; n++) await submit()
      await sleep(random() * 400)
      const seen = (await askAll()).filter(({ state }) => state.unsent.length > 0)
      const { tab, state } = any(seen) ?? {}
      const key = any(state?.unsent ?? [])
      if (tab && key) await discard(tab, key)
      await sleep(random() * 400)
      network.setDelay(0)
      await online()
    },
    async 'disk-full'() {
      const one = any(running())
      isDiskFull = random() < 0.5
      for (const tab of isDiskFull ? running() : one ? [one] : []) await setFull(tab, true)
      say(`    for ${isDiskFull ? 'all' : one?.name}`)
      await submit(one)
    },
    async 'disk-free'() {
      isDiskFull = false
      for (const tab of running()) if (tab.full) await setFull(tab, false)
    },
    async 'clock-off'() {
      const tab = any(running().filter(({ clockOff }) => clockOff === 0))
      if (tab) await setClockOff(tab, random() < 0.5 ? CLOCK_OFF_MS : -CLOCK_OFF_MS)
    },
    async 'clock-right'() {
      const tab = any(running().filter(({ clockOff }) => clockOff !== 0))
      if (tab) await setClockOff(tab, 0)
    },
  }

  /** By any tab that runs, unless one is given. Whatever is reported as kept must be sent, once. */
  async function submit(tab = any(running())) {
    if (!tab || submits >= MOST_TASKS) return
    const key = randomUUID()
    const prompt = `wish ${++submits}${random() < slow() ? ' [slow]' : ''}`
    ledger.made(key, prompt, tab.name)
    const given = { prompt, key }
    const answer = tab.page.evaluate((one) => window.lab.submit(one.prompt, one.key), given).catch(() => null)
    const submission = await Promise.race([answer, sleep(ANSWER_WITHIN_MS, null)])
    if (submission) ledger.kept(key, submission.storage)
    say(`    ${prompt} in ${tab.name}: ${submission?.storage ?? 'no answer'}`)
  }

  async function discard(tab: Tab, key: string) {
    // On a full disk, the other tabs do not learn of it.
    const isFull = tabs.some(({ full }) => full) || Date.now() < fullUntil
    const from = Date.now()
    const done = tab.page
      .evaluate((one) => window.lab.discard(one), key)
      .then(
        () => true,
        () => false,
      )
    const isDone = await Promise.race([done, sleep(ANSWER_WITHIN_MS, false)])
    ledger.discarded(key, tab.name, from, isDone && !isFull ? Date.now() : null)
    say(`    ${key} in ${tab.name}`)
  }

  /** Signs in again all tabs that were signed out, by themselves or by another tab. */
  const signInAll = () => Promise.all(running().map((tab) => tell(tab, () => window.lab.signIn())))

  async function setFull(tab: Tab, full: boolean) {
    await tell(tab, full ? () => window.lab.setFull(true) : () => window.lab.setFull(false))
    tab.full = full
    fullUntil = Date.now() + WRITTEN_AGAIN_MS
  }

  async function setClockOff(tab: Tab, ms: number) {
    say(`    ${tab.name} by ${ms} ms`)
    await tell(tab, (by) => window.lab.setClockOff(by), ms)
    tab.clockOff = ms
  }

  async function online() {
    network.setOnline(true)
    // As the browser does when the machine has a network again.
    await Promise.all(running().map((tab) => tell(tab, () => window.dispatchEvent(new Event('online')))))
  }

  const tell = <T = undefined>(tab: Tab, what: (given: T) => unknown, given?: T) =>
    Promise.race([tab.page.evaluate(what as never, given).catch(() => {}), sleep(ANSWER_WITHIN_MS)])

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
      await signInAll()
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
      acts.push('log-out', 'discard')
      acts.push(tabs.some(({ full }) => full) ? 'disk-free' : 'disk-full')
      acts.push(tabs.some(({ clockOff }) => clockOff !== 0) ? 'clock-right' : 'clock-off')
      return acts
    },
    submit: () => submit(),
    /** Everything runs, can be seen and has a network, room, the right time and a user. */
    async calm() {
      wakeAll()
      await perform['disk-free']()
      for (const tab of tabs) if (tab.clockOff !== 0) await setClockOff(tab, 0)
      await online()
      for (const tab of tabs) if (tab.hidden) await setHidden(tab, false)
      await signInAll()
      while (tabs.length < wanted) await open()
    },
    signInAll,
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
    counts: ledger.counts,
    /** What the server should have and has not, or has and should not. */
    judge(tasks: Task[]) {
      const verdict = ledger.judge(tasks, network.calls)
      for (const [what, keys] of Object.entries(verdict)) {
        for (const key of keys) say(`${what}: ${ledger.tell(key, network.calls).join('\n    ')}`)
      }
      return verdict
    },
  }
}
