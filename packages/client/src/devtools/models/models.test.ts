import { describe, expect, it } from 'vitest'
import { trackedTask } from '../../../test/tracked-task.ts'
import type { Insight } from '../../index.ts'
import type { Envelope, TabMessage } from '../../tabs/tab-message.ts'
import { happenings, type Moment } from './happenings.ts'
import { messageRows } from './message-rows.ts'
import { outboxRows } from './outbox-rows.ts'
import type { TabFacts } from './tab-facts.ts'
import { type RollEntry, tabRows } from './tab-rows.ts'
import { taskRows } from './task-rows.ts'
import { agoText, bytesText, durationText, offsetText } from './time-text.ts'
import { whyRole } from './why-role.ts'

const NOW = 1_800_000_000_000

const facts = (given: Partial<TabFacts> = {}): TabFacts => ({
  tabId: 'aaaaaaaaaa',
  role: 'follower',
  reason: 'other-leads',
  level: 'web-lock',
  connection: 'follower',
  epoch: 3,
  visible: true,
  path: '/',
  ...given,
})

const session = (given: Partial<NonNullable<Insight['session']>> = {}): NonNullable<Insight['session']> => ({
  level: 'web-lock',
  reason: 'other-leads',
  epoch: 3,
  lease: null,
  messages: [],
  cursor: null,
  ...given,
})

const said = (from: string, at: number, message: TabMessage = { kind: 'hello' }): Envelope => ({
  holdfast: 2,
  from,
  visible: false,
  at,
  message,
})

describe('why a tab leads or follows', () => {
  it.each([
    ['leader', 'free', /Nobody led/],
    ['leader', 'freed', /closed, crashed or was put away/],
    ['leader', 'no-answer', /did not answer for two seconds/],
    ['leader', 'handed-to-us', /hidden for five seconds, and handed over/],
    ['follower', 'other-leads', /Another tab leads/],
    ['follower', 'handed-over', /handed the lead to a visible tab/],
    ['follower', 'robbed', /taken from it/],
    ['follower', 'away', /takes no part/],
  ] as const)('%s, %s', (role, reason, sentence) => {
    expect(whyRole({ role, reason, level: 'web-lock' })).toMatch(sentence)
  })

  it('names the leader where it is known', () => {
    expect(whyRole(facts(), 'bbbbbbbbbb')).toBe('Tab bbbbbb leads, and passes everything on.')
  })

  it('knows that nobody is chosen where every tab leads, and that nobody is signed in', () => {
    expect(whyRole({ role: 'leader', reason: 'free', level: 'every-tab' })).toMatch(/each asks the server/)
    expect(whyRole({ role: 'follower' })).toMatch(/Nobody is signed in/)
  })
})

describe('the tabs', () => {
  const rows = (
    roster: Record<string, Partial<RollEntry> & { facts: TabFacts }>,
    more: Partial<Parameters<typeof tabRows>[0]> = {},
  ) =>
    tabRows({
      me: facts(),
      crashed: false,
      roster: new Map(
        Object.entries(roster).map(([id, entry]) => [id, { heardAt: NOW, left: false, ...entry }]),
      ),
      session: session(),
      now: NOW,
      ...more,
    })
  const leads = facts({ tabId: 'b', role: 'leader', reason: 'free', connection: 'push' })

  it('this one first, then who leads, then the others in an order that stays', () => {
    const c = facts({ tabId: 'c' })
    const all = rows({ d: { facts: facts({ tabId: 'd' }) }, c: { facts: c }, b: { facts: leads } })
    expect(all.map(({ tabId, presence, leads }) => [tabId, presence, leads])).toEqual([
      ['aaaaaaaaaa', 'this', false],
      ['b', 'answers', true],
      ['c', 'answers', false],
      ['d', 'answers', false],
    ])
  })

  it('one that does not answer is silent, then dropped; one that said goodbye is dropped at once', () => {
    const presence = (entry: Partial<RollEntry>) => rows({ b: { facts: leads, ...entry } })[1]?.presence
    expect(presence({ heardAt: NOW - 3_000 })).toBe('answers')
    expect(presence({ heardAt: NOW - 5_000 })).toBe('silent')
    expect(presence({ heardAt: NOW - 16_000 })).toBeUndefined()
    expect(presence({ left: true })).toBeUndefined()
  })

  it('of two that say they lead, the one with the newer epoch does; where every tab leads, both', () => {
    const me = facts({ role: 'leader', reason: 'freed', epoch: 4 })
    expect(rows({ b: { facts: leads } }, { me }).map((row) => row.leads)).toEqual([true, false])
    const each = { role: 'leader', reason: 'free', level: 'every-tab', epoch: 0 } as const
    const both = rows({ b: { facts: facts({ tabId: 'b', ...each }) } }, { me: facts(each) })
    expect(both.map((row) => row.leads)).toEqual([true, true])
  })

  it('a crashed tab does not lead, whatever it believes', () => {
    const me = facts({ role: 'leader', reason: 'free' })
    expect(rows({}, { me, crashed: true }).map((row) => row.leads)).toEqual([false])
  })

  it('those without devtools are heard of, from messages and from the lease', () => {
    const heard = session({
      messages: [said('old', NOW - 200_000), said('x', NOW - 9_000), said('aaaaaaaaaa', NOW), said('b', NOW)],
      lease: { owner: 'y', epoch: 3, expiresAt: NOW + 10_000 },
    })
    const all = rows({ b: { facts: facts({ tabId: 'b' }), left: true } }, { session: heard })
    expect(all.map(({ tabId, presence, leads, visible }) => [tabId, presence, leads, visible])).toEqual([
      ['aaaaaaaaaa', 'this', false, true],
      ['y', 'heard-of', true, null],
      ['x', 'heard-of', false, false],
    ])
  })

  it('a lease that has run out names nobody', () => {
    const lease = { owner: 'y', epoch: 3, expiresAt: NOW - 1 }
    expect(rows({}, { session: session({ lease }) })).toHaveLength(1)
  })
})

describe('tasks', () => {
  const running = trackedTask({
    id: 'r',
    status: 'running',
    progress: 40,
    createdAt: '2026-01-01T00:00:02.000Z',
  })
  const failed = trackedTask({ id: 'f', status: 'failed', type: 'video', params: { prompt: 'A castle' } })
  const saved = trackedTask({ id: 's', status: 'completed', stale: true, origin: 'other-device' })
  const tasks = { r: running, f: failed, s: saved }
  const now = Date.parse('2026-01-01T00:01:02.000Z')

  it('newest first, with what can be done', () => {
    const all = taskRows(tasks, '', now)
    expect(all.map(({ id, age, actions, isRunning }) => [id, age, actions, isRunning])).toEqual([
      ['r', '1 min', ['cancel'], true],
      ['f', '1 min', ['retry'], false],
      ['s', '1 min', [], false],
    ])
    const unsaved = trackedTask({ status: 'completed', saveState: 'failed' })
    expect(taskRows({ a: unsaved }, '', now)[0]?.actions).toEqual(['save'])
  })

  it.each([
    ['castle', ['f']],
    ['VIDEO', ['f']],
    ['stale', ['s']],
    ['other-device', ['s']],
    ['running', ['r']],
    ['nothing like it', []],
  ])('filtered by %s', (filter, ids) => {
    expect(taskRows(tasks, filter, now).map(({ id }) => id)).toEqual(ids)
  })
})

it('the outbox tells what waits from what was refused, oldest first', () => {
  const waiting = trackedTask({ id: 'w', unsent: true, createdAt: '2026-01-01T00:00:05.000Z' })
  const refused = trackedTask({
    id: 'r',
    unsent: true,
    status: 'failed',
    failure: { code: 'INVALID_PARAMS', message: 'No prompt.', retryable: false } as never,
  })
  const rows = outboxRows({ w: waiting, r: refused }, Date.parse('2026-01-01T00:00:10.000Z'))
  expect(rows.map(({ key, state, text, age }) => [key, state, text, age])).toEqual([
    ['r', 'refused', 'INVALID_PARAMS: No prompt.', '10 s'],
    ['w', 'waiting', 'On disk, and being sent.', '5 s'],
  ])
})

describe('messages', () => {
  const task = trackedTask({ id: 'cccccccccc', type: 'image', status: 'running', progress: 30 })
  const states = {
    kind: 'states',
    epoch: 4,
    tasks: [task],
    gone: ['x'],
    complete: true,
  } as unknown as TabMessage
  const log = (
    [
      { kind: 'ping', to: null },
      { kind: 'pong', to: 'bbbbbbbbbb', leads: true, epoch: 4 },
      { kind: 'yours', to: 'bbbbbbbbbb' },
      { kind: 'logout', forget: true },
      states,
      { kind: 'task', task },
      { kind: 'conversations', conversations: [] },
      { kind: 'of tomorrow' } as unknown as TabMessage,
    ] satisfies TabMessage[]
  ).map((message, number) => ({ number, envelope: said(number % 2 ? 'me' : 'you', NOW + number, message) }))

  it('are told as a person would, newest first', () => {
    expect(messageRows(log, 'me', '').map(({ text, isMine }) => [text, isMine])).toEqual([
      ['Something this version does not know.', true],
      ['0 conversations changed.', false],
      ['image cccccc is running at 30%.', true],
      ['Everything: 1 task, 1 gone, epoch 4.', false],
      ['The user signed out: forget everything.', true],
      ['Tab bbbbbb, the lead is yours.', false],
      ['Tab bbbbbb, I am here and lead, epoch 4.', true],
      ['Is there a leader?', false],
    ])
  })

  it('are filtered by kind, sender and text', () => {
    const kinds = (filter: string) => messageRows(log, 'me', filter).map(({ kind }) => kind)
    expect(kinds('pong')).toEqual(['pong'])
    expect(kinds(' RUNNING ')).toEqual(['task'])
    expect(kinds('you')).toContain('ping')
  })
})

describe('what happened', () => {
  const moment = (given: Partial<Moment> = {}): Moment => ({
    facts: facts(),
    userId: 'alice',
    storageProblem: null,
    simulation: { hidden: false, offline: false, crashed: false },
    ...given,
  })
  const told = (before: Moment | null, after: Moment) => happenings(before, after).map(({ text }) => text)
  const leader = facts({ role: 'leader', reason: 'freed', epoch: 4, connection: 'offline' })

  it('nothing, when nothing changed', () => {
    expect(told(moment(), moment())).toEqual([])
  })

  it('begins with who is signed in and how this tab came by its role', () => {
    expect(told(null, moment())).toEqual([
      'Signed in as alice.',
      expect.stringMatching(/^Follows\. Another tab/),
    ])
  })

  it('a new lead is told with its epoch and its reason; that it has no connection yet is not', () => {
    expect(told(moment(), moment({ facts: leader }))).toEqual([
      expect.stringMatching(/^Leads, epoch 4\. The tab that led before closed/),
    ])
    const live = moment({ facts: { ...leader, connection: 'push' } })
    expect(told(moment({ facts: leader }), live)).toEqual([expect.stringMatching(/^Live/)])
    expect(told(live, moment({ facts: leader }))).toEqual([expect.stringMatching(/^Offline/)])
  })

  it('simulations, storage trouble and signing out', () => {
    const state = { hidden: false, offline: false, crashed: false }
    const hidden = moment({ simulation: { ...state, hidden: true } })
    const offline = moment({ simulation: { ...state, offline: true } })
    expect(told(moment(), hidden)).toEqual(['Hidden (simulated).'])
    expect(told(hidden, moment())).toEqual(['Visible again.'])
    expect(told(moment(), offline)).toEqual(['The network is gone (simulated).'])
    expect(told(offline, moment())).toEqual(['The network is back.'])
    expect(told(moment(), moment({ simulation: { ...state, crashed: true } }))).toEqual([
      expect.stringMatching(/^Crashed/),
    ])
    expect(told(moment(), moment({ storageProblem: 'full' }))).toEqual([expect.stringMatching(/full/)])
    expect(told(moment(), moment({ userId: null }))).toEqual(['Signed out.'])
  })
})

it('times and sizes', () => {
  expect([0, 1_500, 61_000, 7_200_000, 2e8].map(durationText)).toEqual(['now', '1 s', '1 min', '2 h', '2 d'])
  expect([agoText(300), agoText(4_000)]).toEqual(['now', '4 s ago'])
  expect([offsetText(0), offsetText(-1_240), offsetText(400)]).toEqual(['none', '−1.2 s', '+0.4 s'])
  expect([bytesText(12), bytesText(2_345)]).toEqual(['12 B', '2.3 kB'])
})
