import { setTimeout as sleep } from 'node:timers/promises'
import { until } from '../crash/until.ts'
import { createFindings, type Finding } from '../poller/finding.ts'
import { type HiddenTab, openHiddenTabs } from './open-hidden-tabs.ts'
import { isOpen } from './streams-in-log.ts'
import type { TabState } from './tab-state.ts'
import type { Stage } from './tabs-lab.ts'

export interface HiddenSize {
  tabs: number
  /** How often the lease must run out, as it seems, while its owner is asleep. */
  expiries: number
  /** Makes the lease look expired as soon as the timers sleep, instead of waiting until it is. */
  hasten: boolean
}

/** Chromium lets hidden tabs run for a minute before their timers go off once a minute. */
const THROTTLED_WITHIN_MS = 100_000
/** A new tab that asks for the leader, and would take the lead after two seconds without an answer. */
const ASKED_MS = 3_500

/**
 * All tabs are hidden, and Chromium lets their timers go off once a minute: the leader renews its lease of 30 s every
 * 60 s, so half the time it looks expired. More tabs come while it does, and ask.
 */
export async function runHiddenTabs(
  stage: Stage,
  { tabs, expiries, hasten, level }: HiddenSize & { level: 'web-lock' | 'indexeddb' },
): Promise<Finding[]> {
  const found = createFindings(`hidden tabs: ${level}`)
  const person = await stage.person(`hidden ${level}`)
  const browser = await openHiddenTabs(level === 'indexeddb' ? ['locks'] : [])
  try {
    const opened: HiddenTab[] = []
    const open = async () => opened.push(await browser.open(person.url))
    const states = () =>
      Promise.all(opened.map(({ ask }) => ask<TabState | undefined>('window.lab?.state()')))
    const lease = async () => (await states())[0]?.lease ?? null
    const isExpired = async () => ((await lease())?.expiresAt ?? Number.POSITIVE_INFINITY) < Date.now()

    for (let n = 0; n < tabs; n++) await open()
    const leading = await until(
      'a leader with a stream',
      async () => (await states()).find((state) => state?.connection === 'push'),
      { withinMs: 20_000 },
    )
    const ticks = () => opened[0]?.ask<number[]>('window.lab.ticks') ?? Promise.resolve([])
    const sleptMs = async () => Date.now() - ((await ticks()).at(-1) ?? Date.now())
    await until('timers that sleep', async () => (await sleptMs()) > 15_000, {
      withinMs: THROTTLED_WITHIN_MS,
      everyMs: 500,
    })

    let seen = 0
    let longestMs = 0
    while (seen < expiries) {
      if (hasten) await opened[0]?.ask(MAKE_EXPIRED)
      await until('a lease that seems to have run out', isExpired, { withinMs: 90_000, everyMs: 250 })
      seen++
      await open()
      await sleep(ASKED_MS)
      longestMs = Math.max(longestMs, await sleptMs())
      if (seen < expiries) {
        await until('the lease renewed', async () => !(await isExpired()), { withinMs: 90_000, everyMs: 250 })
      }
    }

    const all = await states()
    const gaps = await ticks().then((at) => at.slice(1).map((time, index) => time - (at[index] ?? 0)))
    const streams = person.streams()
    found.equal('level', [...new Set(all.map((state) => state?.level))].join(), level)
    found.equal('tabs that are visible', all.filter((state) => state?.visible).length, 0)
    found.atLeast('ms that a timer of 5 s slept', Math.max(longestMs, ...gaps), 15_000)
    found.atLeast('times the lease seemed to have run out', seen, expiries)
    found.equal('tabs that came and asked meanwhile', all.length - tabs, expiries)
    found.equal('leaders', all.filter((state) => state?.role === 'leader').length, 1)
    found.equal(
      'the leader is the one it was',
      all.find((state) => state?.role === 'leader')?.tabId ?? 'nobody',
      leading.tabId,
    )
    found.equal('its epoch', Math.max(...all.map((state) => state?.epoch ?? 0)), leading.epoch)
    found.equal('leaders that the server saw', new Set(streams.map(({ epoch }) => epoch)).size, 1)
    found.equal('streams open', streams.filter(isOpen).length, 1)
    return found.all
  } finally {
    await browser.close()
  }
}

const MAKE_EXPIRED = `
  for (const key of Object.keys(localStorage).filter((key) => key.endsWith(':lease'))) {
    localStorage.setItem(key, JSON.stringify({ ...JSON.parse(localStorage.getItem(key)), expiresAt: 0 }))
  }`
