import type { Insight } from '../../create-client.ts'
import type { TabFacts } from './tab-facts.ts'

/** Asked every second, a living tab answers in milliseconds. */
const SILENT_AFTER_MS = 3_500
/** Long enough to be noticed. */
const DROPPED_AFTER_MS = 15_000
/** Without devtools a follower says little, so what was heard of it counts for longer. */
const HEARD_OF_FOR_MS = 120_000

/** `answers` the roll call, does so no more, or has none to answer with and is only known from messages. */
export type Presence = 'this' | 'answers' | 'silent' | 'heard-of'

export interface TabRow {
  tabId: string
  presence: Presence
  leads: boolean
  /** Null: it was only heard of. */
  facts: TabFacts | null
  visible: boolean | null
  heardAt: number
}

export interface RollEntry {
  facts: TabFacts
  heardAt: number
  /** It has said that it leaves. */
  left: boolean
}

export interface Roll {
  me: TabFacts
  /** A dead tab does not lead, whatever it still believes. */
  crashed: boolean
  roster: ReadonlyMap<string, RollEntry>
  session: Insight['session']
  now: number
}

/** This tab first, then who leads, then by id so that rows stay where they are. */
export function tabRows({ me, crashed, roster, session, now }: Roll): TabRow[] {
  const rows = new Map<string, TabRow>()
  rows.set(me.tabId, {
    tabId: me.tabId,
    presence: 'this',
    leads: me.role === 'leader' && !crashed,
    facts: me,
    visible: me.visible,
    heardAt: now,
  })
  for (const { facts, heardAt, left } of roster.values()) {
    const age = now - heardAt
    if (left || age > DROPPED_AFTER_MS || facts.tabId === me.tabId) continue
    rows.set(facts.tabId, {
      tabId: facts.tabId,
      presence: age > SILENT_AFTER_MS ? 'silent' : 'answers',
      leads: facts.role === 'leader',
      facts,
      visible: facts.visible,
      heardAt,
    })
  }
  // The newest epoch leads: two tabs may say so for a moment.
  const highest = Math.max(...[...rows.values()].map(({ leads, facts }) => (leads && facts?.epoch) || 0))
  for (const row of rows.values()) {
    if (row.facts?.level !== 'every-tab' && (row.facts?.epoch ?? 0) < highest) row.leads = false
  }
  for (const row of heardOf(session, now)) {
    if (!rows.has(row.tabId) && !roster.has(row.tabId)) rows.set(row.tabId, row)
  }
  const rank = (row: TabRow) => (row.presence === 'this' ? 0 : row.leads ? 1 : 2)
  return [...rows.values()].sort((a, b) => rank(a) - rank(b) || a.tabId.localeCompare(b.tabId))
}

function heardOf(session: Insight['session'], now: number): TabRow[] {
  const rows = new Map<string, TabRow>()
  const put = (tabId: string, heardAt: number, visible: boolean | null) =>
    rows.set(tabId, { tabId, presence: 'heard-of', leads: false, facts: null, visible, heardAt })
  for (const { from, at, visible } of session?.messages ?? []) {
    if (now - at <= HEARD_OF_FOR_MS) put(from, at, visible)
  }
  const lease = session?.lease
  if (lease?.owner && lease.expiresAt > now) {
    const row = rows.get(lease.owner) ?? put(lease.owner, now, null).get(lease.owner)
    if (row) row.leads = true
  }
  return [...rows.values()]
}
