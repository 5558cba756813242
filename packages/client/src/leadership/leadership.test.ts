import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createSimulatedBrowser, type SimulatedTab, settle } from '../../test/simulated-browser.ts'
import { createItems } from '../environment/items.ts'
import { openTabChannel, type TabChannel } from '../tabs/tab-channel.ts'
import { createLeadership } from './create-leadership.ts'
import { createEveryTabLevel } from './every-tab-level.ts'
import { createIndexedDbLevel } from './indexeddb-level.ts'
import type { Leadership } from './leadership.ts'
import { createLeases, type Leases } from './lease.ts'
import type { Level } from './level.ts'
import { createWebLockLevel } from './web-lock-level.ts'

type MakeLevel = (tab: SimulatedTab, leases: Leases) => Level

const EXCLUSIVE: Record<string, MakeLevel> = {
  'web-lock': (tab, leases) => createWebLockLevel(tab.locks, 'lead', leases),
  indexeddb: (_, leases) => createIndexedDbLevel(leases),
}

interface Contender {
  tab: SimulatedTab
  role: 'none' | 'leader' | 'follower' | 'resting'
  epoch: number
  epochs: number[]
  exclusive: boolean | null
  /** As a follower: whether it lives on what the leader says, or asks the server for itself. */
  understood: boolean | null
  /** Its renderer stood still while it led: it may learn late that it was robbed. */
  stoodStill: boolean
  leadership: Leadership
}

function createWorld(makeLevel: MakeLevel) {
  const browser = createSimulatedBrowser()
  const all: Contender[] = []

  function open(visible = true): Contender {
    const tab = browser.openTab(visible)
    const leases = createLeases({
      items: createItems(browser.localStorage),
      store: tab.store,
      name: 'lead',
      tabId: tab.id,
      clock: tab.clock,
    })
    const channel: TabChannel | null = openTabChannel({
      open: tab.openChannel,
      name: 'lead',
      tabId: tab.id,
      clock: tab.clock,
      isVisible: tab.isVisible,
      leads: () => ({ leads: contender.role === 'leader', epoch: leadership.epoch() }),
      onMessage: (message, from) => leadership.hear(message, from),
    })
    const leadership = createLeadership({
      tabId: tab.id,
      clock: tab.clock,
      random: () => 0.5,
      levels: [makeLevel(tab, leases), createEveryTabLevel()],
      leases,
      channel,
      page: tab.page,
      isVisible: tab.isVisible,
    })
    const contender: Contender = {
      tab,
      role: 'none',
      epoch: 0,
      epochs: [],
      exclusive: null,
      understood: null,
      stoodStill: false,
      leadership,
    }
    leadership.start({
      lead(exclusive, epoch) {
        Object.assign(contender, { role: 'leader', epoch, exclusive, stoodStill: false })
        contender.epochs.push(epoch)
      },
      follow: (understood) => Object.assign(contender, { role: 'follower', understood }),
      rest: () => Object.assign(contender, { role: 'resting' }),
      wake() {},
    })
    all.push(contender)
    return contender
  }

  /** Time passes in small steps, with everything that follows from each. */
  async function pass(ms: number) {
    for (let left = ms; left > 0; left -= 500) {
      browser.clock.advance(Math.min(500, left))
      await settle()
    }
  }

  return {
    ...browser,
    open,
    pass,
    all,
    leaders: () => all.filter(({ tab, role }) => role === 'leader' && tab.state === 'running'),
  }
}

describe.each(Object.entries(EXCLUSIVE))('a leader by %s', (name, makeLevel) => {
  it('is one of many that begin together, and the others follow', async () => {
    const world = createWorld(makeLevel)
    for (let n = 0; n < 8; n++) world.open()
    await settle()
    expect(world.leaders()).toHaveLength(1)
    expect(world.all.filter(({ role }) => role === 'follower')).toHaveLength(7)
    expect(world.leaders()[0]?.leadership.inspect()).toEqual({ level: name, reason: 'free' })
    await world.pass(120_000)
    expect(world.all.flatMap(({ epochs }) => epochs)).toHaveLength(1)
  })

  it('shows its lease, renews it, and takes its name off when it goes', async () => {
    const world = createWorld(makeLevel)
    const leader = world.open()
    await settle()
    const lease = () => JSON.parse(world.localStorage.getItem('lead:lease') ?? 'null')
    expect(lease()).toEqual({ owner: leader.tab.id, epoch: 1, expiresAt: world.clock.now() + 30_000 })
    await world.pass(15_000)
    expect(lease().expiresAt).toBe(world.clock.now() + 30_000)
    leader.leadership.stop()
    expect(lease()).toEqual({ owner: '', epoch: 1, expiresAt: 0 })
  })

  it('is followed by another when it closes, with a higher epoch', async () => {
    const world = createWorld(makeLevel)
    const first = world.open()
    await settle()
    const second = world.open()
    await settle()
    first.tab.page.dispatchEvent(new Event('pagehide'))
    await settle()
    expect(first.role).toBe('resting')
    expect(second).toMatchObject({ role: 'leader', epoch: 2 })
  })

  it('is followed at once when it closes, though its page is gone before it has let go', async () => {
    const deaf: MakeLevel = (tab, leases) => {
      const level = makeLevel(tab, leases)
      if (level.freesItself) return level
      const tryTake = async () => {
        const hold = await level.tryTake()
        return hold && { ...hold, release() {} }
      }
      return { ...level, tryTake }
    }
    const world = createWorld(deaf)
    const first = world.open()
    await settle()
    const others = [world.open(), world.open()]
    await settle()
    first.tab.page.dispatchEvent(new Event('pagehide'))
    await settle()
    expect(world.leaders()).toHaveLength(1)
    expect(others.flatMap(({ epochs }) => epochs)).toEqual([2])
  })

  it('is followed by another when it is killed', async () => {
    const world = createWorld(makeLevel)
    const first = world.open()
    await settle()
    const second = world.open()
    await settle()
    first.tab.kill()
    await world.pass(60_000)
    expect(second).toMatchObject({ role: 'leader', epoch: 2 })
  })

  it('stopped, is robbed by a visible tab after two seconds without an answer, and stops when it wakes', async () => {
    const world = createWorld(makeLevel)
    const first = world.open()
    await settle()
    first.tab.stop()
    const second = world.open()
    await settle()
    expect(second.role).toBe('follower')
    await world.pass(2_000)
    expect(second).toMatchObject({ role: 'leader', epoch: 2 })
    expect(second.leadership.inspect().reason).toBe('no-answer')

    first.tab.resume()
    // Before any message or lock has told it anything.
    expect(first.leadership.stillLeads()).toBe(false)
    expect(first.role).toBe('follower')
    await world.pass(60_000)
    expect(world.leaders()).toEqual([second])
  })

  it('stopped, is robbed within four seconds by a visible tab that has followed it', async () => {
    const world = createWorld(makeLevel)
    const first = world.open()
    await settle()
    const second = world.open()
    await world.pass(10_000)
    first.tab.stop()
    await world.pass(3_500)
    expect(second).toMatchObject({ role: 'leader', epoch: 2 })
  })

  it('is waited for on the same level by a tab that was stopped while its turn came and went', async () => {
    const world = createWorld(makeLevel)
    const first = world.open()
    await settle()
    const second = world.open()
    await settle()
    const third = world.open()
    await settle()
    second.tab.stop()
    first.tab.kill()
    await world.pass(4_000)
    expect(world.leaders()).toEqual([third])
    second.tab.resume()
    await settle()
    expect(second.leadership.inspect()).toEqual({ level: name, reason: 'other-leads' })
    third.tab.page.dispatchEvent(new Event('pagehide'))
    await settle()
    expect(world.leaders()).toEqual([second])
  })

  it('stopped, is not robbed by a hidden tab until that is looked at', async () => {
    const world = createWorld(makeLevel)
    const first = world.open()
    await settle()
    const second = world.open(false)
    await settle()
    first.tab.stop()
    await world.pass(20_000)
    expect(second.role).toBe('follower')
    second.tab.setVisible(true)
    await world.pass(2_500)
    expect(second.role).toBe('leader')
  })

  it('is not robbed for a lease that has expired, as long as it answers', async () => {
    const world = createWorld(makeLevel)
    const first = world.open()
    await settle()
    const second = world.open()
    const lease = JSON.parse(world.localStorage.getItem('lead:lease') ?? '')
    for (let minute = 0; minute < 3; minute++) {
      world.localStorage.setItem('lead:lease', JSON.stringify({ ...lease, expiresAt: 0 }))
      await world.pass(10_000)
    }
    expect(world.leaders()).toEqual([first])
    expect(second.role).toBe('follower')
  })

  it('hands over after five seconds hidden, to a visible tab, without a third getting in between', async () => {
    const world = createWorld(makeLevel)
    const first = world.open()
    await settle()
    const hidden = world.open(false)
    await settle()
    const visible = world.open()
    await settle()
    first.tab.setVisible(false)
    await world.pass(4_500)
    expect(world.leaders()).toEqual([first])
    await world.pass(1_000)
    expect(world.leaders()).toEqual([visible])
    expect(visible.leadership.inspect().reason).toBe('handed-to-us')
    await world.pass(10_000)
    expect(world.leaders()).toEqual([visible])
    expect(hidden.epochs).toEqual([])
  })

  it('keeps the lead while all are hidden, and hands it to the first that is looked at', async () => {
    const world = createWorld(makeLevel)
    const first = world.open()
    await settle()
    const second = world.open()
    await settle()
    second.tab.setVisible(false)
    first.tab.setVisible(false)
    await world.pass(60_000)
    expect(world.leaders()).toEqual([first])
    second.tab.setVisible(true)
    await settle()
    expect(world.leaders()).toEqual([second])
  })

  it('hands over to a tab that is opened in front of it long after it was hidden', async () => {
    const world = createWorld(makeLevel)
    const first = world.open()
    await settle()
    first.tab.setVisible(false)
    await world.pass(60_000)
    const second = world.open()
    await settle()
    expect(world.leaders()).toEqual([second])
    expect(second.leadership.inspect().reason).toBe('handed-to-us')
    await world.pass(60_000)
    expect(world.all.map(({ epochs }) => epochs)).toEqual([[1], [2]])
  })

  it('keeps the lead for its first five seconds hidden, also when a tab is opened in front of it', async () => {
    const world = createWorld(makeLevel)
    const first = world.open()
    await settle()
    first.tab.setVisible(false)
    const second = world.open()
    await world.pass(4_500)
    expect(world.leaders()).toEqual([first])
    await world.pass(2_000)
    expect(world.leaders()).toEqual([second])
  })

  it('is left in peace by a tab that hears nothing, which asks the server for itself', async () => {
    const world = createWorld(makeLevel)
    const deaf = world.open()
    deaf.tab.setDeaf(true)
    await settle()
    const others = [world.open(), world.open()]
    await world.pass(180_000)
    const epochs = () => world.all.flatMap((contender) => contender.epochs).length
    const before = epochs()
    expect(before).toBeLessThanOrEqual(8)
    await world.pass(600_000)
    expect(epochs()).toBe(before)
    expect(others).toContain(world.leaders()[0])
    expect(deaf).toMatchObject({ role: 'follower', understood: false })
    expect(others.find(({ role }) => role === 'follower')).toMatchObject({ understood: true })

    deaf.tab.setDeaf(false)
    await world.pass(4_000)
    expect(epochs()).toBe(before)
    expect(deaf).toMatchObject({ role: 'follower', understood: true })
    world.leaders()[0]?.tab.stop()
    others.find(({ role }) => role === 'follower')?.tab.kill()
    await world.pass(4_000)
    expect(world.leaders()).toEqual([deaf])
  })

  it('is one of two tabs that cannot hear each other, and stays so', async () => {
    const world = createWorld(makeLevel)
    const both = [world.open(), world.open()]
    for (const { tab } of both) tab.setDeaf(true)
    await world.pass(180_000)
    const before = both.map(({ epochs }) => epochs.length)
    await world.pass(600_000)
    expect(both.map(({ epochs }) => epochs.length)).toEqual(before)
    expect(both.map(({ role }) => role).sort()).toEqual(['follower', 'leader'])
    expect(both.find(({ role }) => role === 'follower')).toMatchObject({ understood: false })
  })

  it.each([
    ['pagehide', 'pageshow'],
    ['freeze', 'resume'],
  ])('lets go on %s and contends again on %s', async (away, back) => {
    const world = createWorld(makeLevel)
    const first = world.open()
    await settle()
    const second = world.open()
    await settle()
    first.tab.page.dispatchEvent(new Event(away))
    await settle()
    expect([first.role, second.role]).toEqual(['resting', 'leader'])
    first.tab.page.dispatchEvent(new Event(back))
    await settle()
    expect([first.role, second.role]).toEqual(['follower', 'leader'])
  })

  it('stands down when the server says that a newer one is connected, and comes back above it', async () => {
    const world = createWorld(makeLevel)
    const only = world.open()
    await settle()
    only.leadership.superseded()
    expect(only.role).toBe('follower')
    await world.pass(3_000)
    expect(only).toMatchObject({ role: 'leader', epoch: 2 })
  })

  it('where the level does not work every tab leads for itself', async () => {
    const broken: MakeLevel = (tab, leases) => ({
      ...makeLevel(tab, leases),
      tryTake: () => Promise.reject(new DOMException('sandboxed', 'SecurityError')),
    })
    const world = createWorld(broken)
    world.open()
    world.open()
    await settle()
    expect(world.all.map(({ role, exclusive }) => [role, exclusive])).toEqual([
      ['leader', false],
      ['leader', false],
    ])
  })

  it('leaves no timer behind', async () => {
    const world = createWorld(makeLevel)
    for (const { tab } of [world.open(), world.open(false)]) tab.setVisible(false)
    await settle()
    for (const { leadership } of world.all) leadership.stop()
    await world.pass(3_000)
    expect(world.clock.waiting).toBe(0)
  })

  const steps = fc.array(
    fc.oneof(
      { weight: 2, arbitrary: fc.record({ do: fc.constant('open' as const), visible: fc.boolean() }) },
      {
        weight: 6,
        arbitrary: fc.record({
          do: fc.constantFrom('kill', 'stop', 'resume', 'show', 'hide', 'away', 'back'),
          tab: fc.nat({ max: 5 }),
        }),
      },
      {
        weight: 4,
        arbitrary: fc.record({ do: fc.constant('pass' as const), ms: fc.constantFrom(500, 3_000, 20_000) }),
      },
    ),
    { minLength: 4, maxLength: 18 },
  )

  it('under any schedule never two lead, except one that was stopped and robbed; and in the end one does', async () => {
    await fc.assert(
      fc.asyncProperty(steps, async (schedule) => {
        const world = createWorld(makeLevel)
        const check = () => {
          expect(world.leaders().filter(({ stoodStill }) => !stoodStill).length).toBeLessThanOrEqual(1)
          // Those that stood still look before they do anything.
          const leading = world.leaders().filter(({ leadership }) => leadership.stillLeads())
          expect(leading.length).toBeLessThanOrEqual(1)
        }
        const perform = (step: (typeof schedule)[number]) => {
          if (step.do === 'open') return void world.open('visible' in step && step.visible)
          if (!('tab' in step)) return
          const contender = world.all[step.tab % Math.max(1, world.all.length)]
          if (!contender || contender.tab.state === 'dead') return
          const { tab } = contender
          if (step.do === 'kill') tab.kill()
          if (step.do === 'stop') {
            contender.stoodStill = true
            tab.stop()
          }
          if (step.do === 'resume') tab.resume()
          if (step.do === 'show' || step.do === 'hide') tab.setVisible(step.do === 'show')
          if (tab.state !== 'running') return
          if (step.do === 'away') tab.page.dispatchEvent(new Event('pagehide'))
          if (step.do === 'back') tab.page.dispatchEvent(new Event('pageshow'))
        }
        for (const step of schedule) {
          if (step.do === 'pass' && 'ms' in step) {
            for (let left = step.ms; left > 0; left -= 1_000) {
              world.clock.advance(Math.min(left, 1_000))
              await settle()
              check()
            }
          } else perform(step)
          await settle()
          check()
        }
        world.open(true)
        for (let second = 0; second < 50; second++) {
          world.clock.advance(1_000)
          await settle()
          check()
        }
        expect(world.leaders()).toHaveLength(1)
        const epochs = world.all.flatMap((contender) => contender.epochs)
        expect(new Set(epochs).size).toBe(epochs.length)
      }),
      { numRuns: 100 },
    )
  }, 120_000)
})
