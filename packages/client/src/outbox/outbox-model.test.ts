import type { Task } from '@holdfast/shared'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createManualClock } from '../../test/manual-clock.ts'
import { createMemoryDisk } from '../../test/memory-disk.ts'
import { trackedTask } from '../../test/tracked-task.ts'
import { createKeep } from '../cache/kept.ts'
import { HoldfastError } from '../holdfast-error.ts'
import { type Intent, isIntents } from './intent.ts'
import { createOutbox, type Outbox } from './outbox.ts'

/*
 * Several tabs of one browser, whatever happens to them: they submit, discard, crash, stand still, lose the network, run
 * out of room, have a clock that is days off. Whatever came before, when things are well again:
 *
 * - what was kept and not discarded has reached the server, or the user was told once that it has not;
 * - what was discarded before the server had it never reaches it, and what was discarded meanwhile is cancelled there;
 * - every tab shows the same, and the outbox holds nothing that waits.
 */

const DAY = 24 * 60 * 60 * 1_000
const TABS = 3

/** Lets everything that needs no time happen: the database, the network, messages between tabs. */
async function settle() {
  for (let turn = 0; turn < 60; turn++) await Promise.resolve()
}

interface Tab {
  page: string
  outbox: Outbox
  shown: Intent[]
  isAlive: boolean
  isStopped: boolean
  isVisible: boolean
  life: AbortController
}

interface Fate {
  isDurable: boolean
  isDiscarded: boolean
  /** Whether the server had it when it was discarded, or a request was under way to it. */
  mayBeThere: boolean
  /** The tab that discarded it while the disk was full: only that tab's memory says so. */
  forgottenIn: Tab | null
  /** That tab's page has ended: nobody knows of the discard any more. */
  isUndone: boolean
  told: number
  resent: number
}

function createWorld() {
  const clock = createManualClock()
  const { disk, setFull } = createMemoryDisk()
  const created = new Map<string, { id: string; isCancelled: boolean }>()
  const fates = new Map<string, Fate>()
  const tabs: Tab[] = []
  let network: 'up' | 'down' | 'loses-answers' | 'hangs' = 'up'
  let refusals = 0
  let pages = 0
  let keys = 0
  let skew = 0
  let isFull = false
  let wasFull = false
  const hanging: (() => void)[] = []
  const underWay = new Set<string>()

  /** A page that stands still does nothing of what comes to it until it goes on. */
  function openTab(name: string): Tab {
    const life = new AbortController()
    const page = `page-${pages++}`
    const late: (() => void)[] = []
    const gate = (run: () => void) => {
      if (!tab.isAlive) return
      if (tab.isStopped) late.push(run)
      else run()
    }
    const reach = <T>(result: Promise<T>) =>
      new Promise<T>((resolve, reject) => {
        result.then(
          (value) => gate(() => resolve(value)),
          (error) => gate(() => reject(error)),
        )
      })

    async function send({ key, body }: Intent): Promise<Task> {
      const mode = network
      if (mode === 'down') throw new HoldfastError('NETWORK', 'No answer.')
      if (mode === 'hangs') await new Promise<void>((resolve) => hanging.push(resolve))
      if (refusals > 0 && !created.has(key)) {
        refusals -= 1
        throw new HoldfastError('INVALID_PARAMS', 'No.', { status: 400 })
      }
      const entry = created.get(key) ?? { id: `task-${key}`, isCancelled: false }
      created.set(key, entry)
      if (mode === 'loses-answers') throw new HoldfastError('NETWORK', 'No answer.')
      return trackedTask({ id: entry.id, placeholderId: body.placeholderId })
    }

    const record = createKeep(
      (mode, use, how) => reach(disk(mode, use, how)),
      () => {},
    )('outbox', isIntents)
    const tab: Tab = {
      page,
      shown: [],
      isAlive: true,
      isStopped: false,
      isVisible: true,
      life,
      outbox: createOutbox({
        record,
        page,
        tab: name,
        clock: {
          now: () => clock.now() + skew,
          after: (ms, run) => clock.after(ms, () => gate(run)),
        },
        random: () => 0.5,
        offset: () => -skew,
        askServer: async () => {
          if (network !== 'up') throw new HoldfastError('NETWORK', 'No answer.')
        },
        session: life.signal,
        mayAdd: () => true,
        mayAdopt: () => tab.isVisible,
        isAlive: (other) =>
          reach(Promise.resolve(tabs.some((each) => each.page === other && each.isAlive && !each.isStopped))),
        send(intent) {
          underWay.add(intent.key)
          return reach(send(intent).finally(() => underWay.delete(intent.key)))
        },
        onSent: () => {},
        async cancel(task) {
          const mode = network
          if (mode !== 'up' && mode !== 'loses-answers') throw new HoldfastError('NETWORK', 'No answer.')
          for (const entry of created.values()) if (entry.id === task.id) entry.isCancelled = true
          if (mode !== 'up') throw new HoldfastError('NETWORK', 'No answer.')
        },
        onFailed({ key }) {
          const fate = fates.get(key)
          if (fate) fate.told += 1
        },
        onChange(intents) {
          tab.shown = intents
        },
        // What a tab has heard of the server's tasks: all of them, while there is a network.
        findTask: ({ key }) => {
          const entry = network === 'up' ? created.get(key) : undefined
          return entry && trackedTask({ id: entry.id })
        },
        tellOthers() {
          for (const other of tabs) if (other !== tab) queueMicrotask(() => void tellTab(other))
        },
      }),
    }
    async function resume() {
      tab.isStopped = false
      for (const run of late.splice(0)) gate(run)
    }
    return Object.assign(tab, { resume, hear: () => gate(() => void tab.outbox.look()) })
  }

  const tellTab = (tab: Tab) => (tab as Tab & { hear(): void }).hear()
  for (let n = 0; n < TABS; n++) tabs.push(openTab(`tab-${n}`))
  const living = (n: number) => {
    const tab = tabs[n % TABS]
    return tab?.isAlive && !tab.isStopped ? tab : undefined
  }

  function end(tab: Tab) {
    tab.isAlive = false
    for (const fate of fates.values()) fate.isUndone ||= fate.forgottenIn === tab
  }

  return {
    clock,
    created,
    fates,
    tabs,
    async submit(n: number) {
      const tab = living(n)
      if (!tab) return
      const key = `key-${keys++}`
      const fate: Fate = {
        isDurable: false,
        isDiscarded: false,
        mayBeThere: false,
        forgottenIn: null,
        isUndone: false,
        told: 0,
        resent: 0,
      }
      fates.set(key, fate)
      const body = { type: 'image', params: {}, placeholderId: key }
      void tab.outbox.add({ key, body, retryOf: null }).then(({ durable }) => {
        fate.isDurable = durable
      })
      await settle()
    },
    /** By a person, who sees its card. */
    async discard(n: number, which: number) {
      const tab = living(n)
      const intent = tab?.shown[which % Math.max(1, tab.shown.length)]
      if (!tab || !intent) return
      const fate = fates.get(intent.key)
      await Promise.race([tab.outbox.discard(intent.key), settle()])
      if (!fate) return
      fate.isDiscarded = true
      if (isFull) fate.forgottenIn = tab
      fate.mayBeThere ||= created.has(intent.key) || underWay.has(intent.key)
    },
    async resend(n: number, which: number) {
      const tab = living(n)
      const failed = tab?.shown.filter(({ failure }) => failure) ?? []
      const intent = failed[which % Math.max(1, failed.length)]
      if (!tab || !intent) return
      const fate = fates.get(intent.key)
      if (fate) fate.resent += 1
      void tab.outbox.resend(intent.key)
      await settle()
    },
    async crash(n: number) {
      const tab = tabs[n % TABS]
      if (!tab) return
      end(tab)
      tabs[n % TABS] = openTab(`tab-${n % TABS}-${pages}`)
      await tabs[n % TABS]?.outbox.look()
      await settle()
    },
    /** The same tab, with a new page. */
    async reload(n: number) {
      const tab = tabs[n % TABS]
      if (!tab) return
      end(tab)
      tab.life.abort()
      const next = openTab(`tab-${n % TABS}`)
      tabs[n % TABS] = next
      void next.outbox.adopt()
      await settle()
    },
    async stop(n: number) {
      const tab = tabs[n % TABS]
      if (tab) tab.isStopped = true
    },
    async resume(n: number) {
      await (tabs[n % TABS] as Tab & { resume(): Promise<void> }).resume()
      await settle()
    },
    async hide(n: number, isVisible: boolean) {
      const tab = tabs[n % TABS]
      if (tab) tab.isVisible = isVisible
    },
    async setNetwork(next: typeof network) {
      network = next
      for (const answer of hanging.splice(0)) answer()
      await settle()
    },
    async refuseNext() {
      refusals += 1
    },
    async setFull(full: boolean) {
      isFull = full
      wasFull ||= full
      setFull(full)
    },
    wasFull: () => wasFull,
    async skewClock(by: number) {
      skew = by
    },
    async elapse(ms: number) {
      for (let passed = 0; passed < ms; passed += 500) {
        clock.advance(Math.min(500, ms - passed))
        await settle()
      }
    },
    async pass(ms: number) {
      clock.advance(ms)
      await settle()
    },
    /** All is well again: everybody goes on, somebody looks, and time passes. */
    async recover() {
      refusals = 0
      skew = 0
      await this.setFull(false)
      await this.setNetwork('up')
      for (let n = 0; n < TABS; n++) {
        await this.hide(n, true)
        await this.resume(n)
      }
      for (const tab of tabs) tab.outbox.wake()
      await settle()
      await this.elapse(100_000)
    },
  }
}

type World = ReturnType<typeof createWorld>

const n = fc.nat(TABS - 1)
const which = fc.nat(5)
const ACTS = {
  submit: { weight: 6, args: fc.tuple(n), act: (world: World, a: number) => world.submit(a) },
  discard: {
    weight: 3,
    args: fc.tuple(n, which),
    act: (world: World, a: number, b: number) => world.discard(a, b),
  },
  resend: {
    weight: 2,
    args: fc.tuple(n, which),
    act: (world: World, a: number, b: number) => world.resend(a, b),
  },
  crash: { weight: 2, args: fc.tuple(n), act: (world: World, a: number) => world.crash(a) },
  reload: { weight: 2, args: fc.tuple(n), act: (world: World, a: number) => world.reload(a) },
  stop: { weight: 1, args: fc.tuple(n), act: (world: World, a: number) => world.stop(a) },
  resume: { weight: 1, args: fc.tuple(n), act: (world: World, a: number) => world.resume(a) },
  hide: { weight: 1, args: fc.tuple(n), act: (world: World, a: number) => world.hide(a, false) },
  show: { weight: 1, args: fc.tuple(n), act: (world: World, a: number) => world.hide(a, true) },
  up: { weight: 2, args: fc.tuple(n), act: (world: World) => world.setNetwork('up') },
  down: { weight: 2, args: fc.tuple(n), act: (world: World) => world.setNetwork('down') },
  'loses answers': { weight: 2, args: fc.tuple(n), act: (world: World) => world.setNetwork('loses-answers') },
  hangs: { weight: 2, args: fc.tuple(n), act: (world: World) => world.setNetwork('hangs') },
  refuse: { weight: 1, args: fc.tuple(n), act: (world: World) => world.refuseNext() },
  full: { weight: 1, args: fc.tuple(n), act: (world: World) => world.setFull(true) },
  room: { weight: 1, args: fc.tuple(n), act: (world: World) => world.setFull(false) },
  'clock off': {
    weight: 1,
    args: fc.tuple(fc.constantFrom(-1.5 * DAY, 1.5 * DAY)),
    act: (world: World, by: number) => world.skewClock(by),
  },
  'a second': { weight: 3, args: fc.tuple(n), act: (world: World) => world.elapse(1_000) },
  'ten seconds': { weight: 2, args: fc.tuple(n), act: (world: World) => world.elapse(10_000) },
  'a day': { weight: 1, args: fc.tuple(n), act: (world: World) => world.pass(DAY) },
} as const

class Act implements fc.AsyncCommand<object, World> {
  readonly name: keyof typeof ACTS
  readonly args: number[]
  constructor(name: keyof typeof ACTS, args: number[]) {
    this.name = name
    this.args = args
  }
  check = () => true
  async run(_: object, world: World) {
    const act = ACTS[this.name].act as (world: World, ...args: number[]) => Promise<unknown>
    await act(world, ...this.args)
  }
  toString = () => `${this.name}(${this.args})`
}

const commands = fc.commands(
  Object.entries(ACTS).flatMap(([name, { weight, args }]) =>
    Array.from({ length: weight }, () =>
      (args as fc.Arbitrary<number[]>).map((given) => new Act(name as keyof typeof ACTS, given)),
    ),
  ),
  { maxCommands: 40 },
)

describe('the outbox of several tabs', () => {
  it('loses nothing, doubles nothing and sends nothing that was discarded', async () => {
    await fc.assert(
      fc.asyncProperty(commands, async (acts) => {
        const world = createWorld()
        await fc.asyncModelRun(() => ({ model: {}, real: world }), acts)
        await world.recover()

        const shown = world.tabs.map(({ shown }) => shown.map(({ key, state }) => `${key} ${state}`).sort())
        expect(
          shown.every((list) => JSON.stringify(list) === JSON.stringify(shown[0])),
          JSON.stringify(shown),
        ).toBe(true)
        for (const [key, fate] of world.fates) {
          const task = world.created.get(key)
          const card = world.tabs[0]?.shown.find((intent) => intent.key === key)
          if (card) expect(card.state, key).toMatch(/refused|expired/)
          if (fate.isDiscarded) {
            if (!fate.isUndone) expect(card, `${key} was discarded`).toBeUndefined()
            // On a full disk, another tab does not learn of it.
            if (world.wasFull()) continue
            if (!fate.mayBeThere) expect(task, `${key} was discarded`).toBeUndefined()
            else if (task) expect(task.isCancelled, `${key} was discarded`).toBe(true)
          } else if (fate.isDurable && !task) {
            expect(card, `${key} is lost`).toBeDefined()
            expect(fate.told, `${key} is told`).toBeGreaterThan(0)
          }
          // Once its answer was lost for a day, or a page went while the disk was full, both are there: the placeholder is
          // then the task's.
          if (task && !world.wasFull() && card?.state !== 'expired')
            expect(card, `${key} is shown beside its task`).toBeUndefined()
          // On a full disk the tabs cannot tell each other that the user has been told: each tells once.
          expect(fate.told, `${key} is told`).toBeLessThanOrEqual((world.wasFull() ? TABS : 1) + fate.resent)
        }
        for (const { life } of world.tabs) life.abort()
      }),
    )
  }, 600_000)
})
