import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Bus } from '../src/bus/bus.ts'
import type { WorkHint } from '../src/engine/work-queue.ts'

/** Opens one more replica of a bus. Asked for anew by each test, so that tests do not hear each other. */
export type OpenReplica = () => Bus

function replicas(makeBus: () => OpenReplica) {
  const open: Bus[] = []
  let openReplica: OpenReplica
  beforeEach(() => {
    openReplica = makeBus()
  })
  afterEach(async () => {
    await Promise.all(open.splice(0).map((bus) => bus.close()))
  })
  return () => {
    const bus = openReplica()
    open.push(bus)
    return bus
  }
}

const until = (condition: () => boolean) =>
  vi.waitFor(() => expect(condition()).toBe(true), { timeout: 10_000, interval: 5 })

/** What every bus does. */
export function describeBus(name: string, makeBus: () => OpenReplica): void {
  describe(name, () => {
    const replica = replicas(makeBus)

    it('tells every listener of that user at once, and no other', () => {
      const bus = replica()
      const heard: string[] = []
      bus.subscribe('ada', () => heard.push('ada 1'))
      bus.subscribe('ada', () => heard.push('ada 2'))
      bus.subscribe('bob', () => heard.push('bob'))
      bus.publish('ada')
      bus.publish('nobody')
      expect(heard).toEqual(['ada 1', 'ada 2'])
    })

    it('knows who is watched until the last listener has gone, however often it goes', () => {
      const bus = replica()
      expect(bus.isWatched('ada')).toBe(false)
      const first = bus.subscribe('ada', () => {})
      const second = bus.subscribe('ada', () => {})
      first()
      first()
      expect(bus.isWatched('ada')).toBe(true)
      second()
      expect(bus.isWatched('ada')).toBe(false)
      bus.subscribe('ada', () => {})
      second()
      expect(bus.isWatched('ada')).toBe(true)
    })

    it('bears a listener that leaves while it is told', () => {
      const bus = replica()
      const heard: string[] = []
      const leave = bus.subscribe('ada', () => leave())
      bus.subscribe('ada', () => heard.push('second'))
      bus.publish('ada')
      bus.publish('ada')
      expect(heard).toEqual(['second', 'second'])
    })

    it('says what is hinted at, and to whom it is meant', () => {
      const bus = replica()
      const heard: string[] = []
      bus.subscribe('ada', (hint) => heard.push(hint))
      bus.publish('ada', 'progressed')
      bus.publish('ada', 'changed', 'here')
      bus.publish('ada', 'changed', 'elsewhere')
      expect(heard).toEqual(['progressed', 'changed'])
    })

    it('tells workers that there is work, until they leave', () => {
      const bus = replica()
      let woken = 0
      const leave = bus.onWork(() => {
        woken += 1
      })
      bus.publishWork({ kind: 'send', of: 'kie' })
      bus.publishWork({ kind: 'send', of: 'kie' }, 'here')
      bus.publishWork({ kind: 'send', of: 'kie' }, 'elsewhere')
      leave()
      bus.publishWork({ kind: 'send', of: 'kie' })
      expect(woken).toBe(2)
    })

    it('says nothing here of streams that open here', () => {
      const bus = replica()
      let heard = 0
      const leave = bus.onOpened(() => {
        heard += 1
      })
      bus.publishOpened({ userId: 'ada', browserId: 'x', epoch: 1 })
      leave()
      expect(heard).toBe(0)
    })

    it('can be closed twice, and says nothing afterwards', async () => {
      const bus = replica()
      await bus.close()
      await bus.close()
      expect(() => bus.publish('ada')).not.toThrow()
    })
  })
}

/** What a bus over several replicas does besides. */
export function describeReplicas(name: string, makeBus: () => OpenReplica): void {
  describe(name, () => {
    const replica = replicas(makeBus)

    it('tells the listeners at other replicas', async () => {
      const [one, other] = [replica(), replica()]
      const heard: string[] = []
      other.subscribe('ada', () => heard.push('ada'))
      other.subscribe('bob', () => heard.push('bob'))
      await until(() => one.isWatched('ada') && one.isWatched('bob'))
      heard.length = 0
      one.publish('ada')
      await until(() => heard.length > 0)
      expect(heard).toEqual(['ada'])
    })

    it('knows who is watched at other replicas, also by those who come later', async () => {
      const one = replica()
      const leave = one.subscribe('ada', () => {})
      const later = replica()
      await until(() => later.isWatched('ada'))
      leave()
      await until(() => !later.isWatched('ada'))
      const again = later.subscribe('bob', () => {})
      await until(() => one.isWatched('bob'))
      again()
      await until(() => !one.isWatched('bob'))
    })

    it('tells other replicas which hint it is, leaves out what is meant for here, and wakes their workers', async () => {
      const [one, other] = [replica(), replica()]
      const heard: string[] = []
      const woken: (WorkHint | null)[] = []
      for (const user of ['ada', 'bob', 'cy']) other.subscribe(user, (hint) => heard.push(`${user} ${hint}`))
      other.onWork((hint) => woken.push(hint))
      await until(() => one.isWatched('ada') && one.isWatched('cy'))
      heard.length = 0
      woken.length = 0
      one.publish('ada', 'progressed')
      one.publish('bob', 'changed', 'here')
      one.publish('cy', 'progressed')
      one.publish('cy', 'changed', 'elsewhere')
      one.publishWork({ kind: 'poll', of: 'kie' }, 'here')
      one.publishWork({ kind: 'send', of: 'kie' })
      await until(() => heard.length > 1 && woken.length > 0)
      expect(heard.toSorted()).toEqual(['ada progressed', 'cy changed'])
      expect(woken).toEqual([{ kind: 'send', of: 'kie' }])
    })

    it('F5: tells other replicas which streams of browsers have opened, the newest of each, until they leave', async () => {
      const [one, other] = [replica(), replica()]
      other.subscribe('ada', () => {})
      await until(() => one.isWatched('ada'))
      const heard: string[] = []
      const leave = other.onOpened(({ userId, browserId, epoch }) =>
        heard.push(`${userId} ${browserId} ${epoch}`),
      )
      for (const epoch of [2, 3, 1]) one.publishOpened({ userId: 'ada', browserId: '"ü\u0001', epoch })
      one.publishOpened({ userId: 'bob', browserId: 'x', epoch: 0 })
      // Longer than any message may be: not told of, and in nobody's way.
      one.publishOpened({ userId: 'ada', browserId: 'x'.repeat(10_000), epoch: 9 })
      await until(() => heard.length === 2)
      expect(heard.toSorted()).toEqual(['ada "ü\u0001 3', 'bob x 0'])
      for (let n = 0; n < 500; n += 1)
        one.publishOpened({ userId: `user-${n}`, browserId: 'y'.repeat(100), epoch: n })
      await until(() => heard.length === 502)
      leave()
      one.publishOpened({ userId: 'ada', browserId: 'x', epoch: 4 })
      other.subscribe('cy', () => heard.push('cy'))
      await until(() => one.isWatched('cy'))
      one.publish('cy')
      await until(() => heard.at(-1) === 'cy')
      expect(heard).toHaveLength(503)
    })

    it('nobody is watched at a replica that has closed', async () => {
      const [one, other] = [replica(), replica()]
      other.subscribe('ada', () => {})
      await until(() => one.isWatched('ada'))
      await other.close()
      await until(() => !one.isWatched('ada'))
    })

    it('carries thousands of users, with names of any kind', async () => {
      const users = Array.from({ length: 3_000 }, (_, n) => `user-${n}-${'ü'.repeat(n % 40)}-"\\\u0001`)
      const [one, other] = [replica(), replica()]
      const heard = new Set<string>()
      for (const user of users) other.subscribe(user, () => heard.add(user))
      await until(() => users.every((user) => one.isWatched(user)))
      const later = replica()
      await until(() => users.every((user) => later.isWatched(user)))
      heard.clear()
      for (const user of users) one.publish(user)
      await until(() => heard.size === users.length)
    })
  })
}
