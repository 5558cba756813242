import { afterEach, expect, it } from 'vitest'
import { until } from '../../test/browser.ts'
import type { TabFacts } from './models/tab-facts.ts'
import { joinRollCall, type RollCall } from './roll-call.ts'

const joined: (RollCall | null)[] = []
afterEach(() => {
  for (const roll of joined.splice(0)) roll?.leave()
})

function join(tabId: string, options: { scope?: string; dead?: () => boolean } = {}) {
  const facts: TabFacts = {
    tabId,
    role: 'follower',
    reason: 'other-leads',
    level: 'web-lock',
    connection: 'follower',
    epoch: 1,
    visible: true,
    path: '/',
  }
  const roll = joinRollCall({
    open: (name) => new BroadcastChannel(name),
    scope: options.scope ?? 'roll-call-test',
    me: () => (options.dead?.() ? null : facts),
    now: () => 7,
    onChange: () => {},
  })
  if (!roll) throw new Error('There are channels here.')
  joined.push(roll)
  return { roll, facts }
}

it('who is there answers, within its own scope, and says when it goes', async () => {
  const a = join('a')
  const b = join('b')
  join('c', { scope: 'another user' })
  a.roll.ask()
  await until(() => a.roll.roster.size === 1)
  expect(a.roll.roster.get('b')).toEqual({ facts: b.facts, heardAt: 7, left: false })
  b.roll.leave()
  await until(() => a.roll.roster.get('b')?.left)
  expect([...a.roll.roster.keys()]).toEqual(['b'])
})

it('the dead do not answer, and do not say goodbye', async () => {
  let dead = false
  const a = join('a')
  const b = join('b', { dead: () => dead })
  await until(() => a.roll.roster.size === 1)
  dead = true
  const c = join('c')
  c.roll.ask()
  b.roll.leave()
  await until(() => c.roll.roster.has('a'))
  expect(c.roll.roster.has('b')).toBe(false)
  expect(a.roll.roster.get('b')?.left).toBe(false)
})

it('does not trip over what others say on its channel, nor over a browser that forbids channels', async () => {
  const a = join('a')
  const stranger = new BroadcastChannel('holdfast-devtools:roll-call-test')
  for (const message of [
    null,
    'who',
    { kind: 'here' },
    { kind: 'here', facts: { tabId: 1 } },
    { kind: 'gone' },
  ]) {
    stranger.postMessage(message)
  }
  join('b')
  await until(() => a.roll.roster.size === 1)
  stranger.close()
  const forbidden = () => {
    throw new DOMException('sandboxed', 'SecurityError')
  }
  const options = { scope: '', me: () => null, now: () => 0, onChange: () => {} }
  expect(joinRollCall({ ...options, open: forbidden })).toBeNull()
})
