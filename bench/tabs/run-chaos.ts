import { setTimeout as sleep } from 'node:timers/promises'
import type { Task } from '@holdfast/shared'
import { until } from '../crash/until.ts'
import { createFindings, type Finding } from '../poller/finding.ts'
import { seededRandom } from '../schedule/seeded-random.ts'
import { type Act, createActs } from './chaos-acts.ts'
import { type Lacking, openBrowser } from './open-browser.ts'
import { isOpen, longestOverlap } from './streams-in-log.ts'
import type { Stage } from './tabs-lab.ts'

export interface ChaosOptions {
  tabs: number
  forMs: number
  slow: number
  seed: number
  lacking: Lacking[]
  /** What the tabs must find by themselves when that is missing. */
  level: 'web-lock' | 'indexeddb' | 'every-tab'
  verbose?: boolean
}

/** The old stream is ended by the server as the new one is let in; that much it may take on a busy machine. */
const HAND_OVER_MS = 1_000
const FREED_WITHIN_MS = 1_000
/** A look every second and a half, two seconds for an answer, and a new stream. */
const SILENT_WITHIN_MS = 4_000

/** How long a task takes that takes long. */
const SLOW_MS = 12_000

/** Where to look for the next thing to happen: what shakes leadership more often than what does not. */
const WEIGHTS: Record<Act, number> = {
  open: 4,
  close: 2,
  crash: 2,
  stop: 2,
  wake: 5,
  hide: 2,
  show: 2,
  reload: 2,
  offline: 1,
  'log-out': 1,
  discard: 2,
  'disk-full': 1,
  'disk-free': 4,
  'clock-off': 1,
  'clock-right': 4,
}

/** However short the run: each way to lose a leader, and each other trouble, once. */
const OPENING: Act[] = [
  'close',
  'clock-off',
  'crash',
  'disk-full',
  'stop',
  'wake',
  'disk-free',
  'discard',
  'reload',
  'open',
  'log-out',
  'clock-right',
  'open',
]

/**
 * Ten tabs of one browser, to which at random everything happens that happens to tabs. The server's log is the judge:
 * it knows how many streams there were, from when until when.
 */
export async function runChaos(stage: Stage, options: ChaosOptions): Promise<Finding[]> {
  const { level } = options
  const found = createFindings(`chaos: ${level}, seed ${options.seed}`)
  const random = seededRandom(options.seed)
  const person = await stage.person(`chaos ${level}`)
  const browser = await openBrowser({ lacking: options.lacking })
  // What takes long and was submitted last would only be waited for.
  const slowUntil = Date.now() + options.forMs - SLOW_MS
  const acts = createActs({
    stage,
    browser,
    person,
    level,
    random,
    tabs: options.tabs,
    slow: () => (Date.now() < slowUntil ? options.slow : 0),
    say,
  })
  const counts = new Map<string, number>()
  const began = Date.now()
  function say(what: string) {
    if (options.verbose) console.log(`${((Date.now() - began) / 1000).toFixed(2).padStart(7)}  ${what}`)
  }

  try {
    for (let opened = 0; opened < options.tabs; opened++) await acts.open()
    const isReady = async () =>
      level === 'every-tab'
        ? (await acts.states()).every(({ restore }) => restore === 'confirmed')
        : (await acts.leader()) !== null
    await until('tabs that are ready', isReady, { withinMs: 20_000 })
    for (let n = 0; n < 2; n++) await acts.submit()
    const actedFrom = Date.now()
    const first = [...OPENING]
    while (first.length > 0 || Date.now() - actedFrom < options.forMs) {
      const act = first.shift() ?? pick(acts.possible(), random)
      counts.set(act, (counts.get(act) ?? 0) + 1)
      await acts.perform(act)
      if (random() < 0.6) await acts.submit()
      await sleep(random() * 700)
    }
    say('enough')

    await acts.calm()
    const isOver = async () => {
      // One that stood still when the user signed out learns of it now.
      await acts.signInAll()
      const tasks = await person.tasks()
      return tasks.every(hasEnded) && (await acts.differing(await person.taskLines())).length === 0
    }
    // Not in time is a finding like any other.
    await until('all ended and all equal', isOver, { withinMs: 90_000, everyMs: 250 }).catch(() => {})
    const tasks = await person.tasks()
    const differing = await acts.differing(await person.taskLines())
    const states = await acts.states()
    const streams = person.streams()

    found.atLeast('things that happened', sum(counts.values()), options.forMs / 3_000)
    found.equal('level that the tabs found', [...new Set(states.map((state) => state.level))].join(), level)
    found.atLeast('tasks', tasks.length, 2)
    found.equal('tasks not ended', tasks.filter((task) => !hasEnded(task)).length, 0)
    found.equal('tabs that differ from the server', differing.length, 0)
    const { discarded, inMemory } = acts.counts()
    found.atLeast('submits discarded', discarded, 1)
    found.atLeast('submits kept in memory only', inMemory, 1)
    const { lost, doubled, sentAfterDiscard, notCancelled } = acts.judge(tasks)
    found.equal('submits lost', lost.length, 0)
    found.equal('submits sent twice', doubled.length, 0)
    found.equal('submits sent after they were discarded', sentAfterDiscard.length, 0)
    found.equal('submits discarded under way and not cancelled', notCancelled.length, 0)
    if (level === 'every-tab') {
      found.equal('streams opened', streams.length, 0)
      found.equal('leaders in the end', states.filter(({ role }) => role === 'leader').length, states.length)
      return found.all
    }
    found.equal('leaders in the end', states.filter(({ role }) => role === 'leader').length, 1)
    found.equal('streams open in the end', streams.filter(isOpen).length, 1)
    found.equal('browsers by their own names', new Set(streams.map((stream) => stream.browser)).size, 1)
    found.atLeast('leaders one after the other', new Set(streams.map(({ epoch }) => epoch)).size, 3)
    found.atMost('ms with two streams', longestOverlap(streams, Date.now()), HAND_OVER_MS)
    const { gaps } = acts
    const freed = gaps.filter((gap) => gap.freed)
    const silent = gaps.filter((gap) => !gap.freed)
    found.atLeast('gaps measured', gaps.length, 1)
    found.atMost(
      `ms without a stream, most of ${freed.length} closed${level === 'web-lock' ? ', crashed' : ''} or reloaded`,
      most(freed),
      FREED_WITHIN_MS,
    )
    found.atMost(
      `ms without a stream, most of ${silent.length} stopped${level === 'web-lock' ? '' : ', crashed'}`,
      most(silent),
      SILENT_WITHIN_MS,
    )
    return found.all
  } finally {
    await acts.wakeAll()
    stage.network.setOnline(true)
    await browser.close()
  }
}

function pick(possible: Act[], random: () => number): Act {
  const total = sum(possible.map((act) => WEIGHTS[act]))
  let left = random() * total
  for (const act of possible) {
    left -= WEIGHTS[act]
    if (left < 0) return act
  }
  return 'open'
}

const hasEnded = ({ finishedAt }: Task) => finishedAt !== null
const sum = (values: Iterable<number>) => [...values].reduce((total, value) => total + value, 0)
const most = (gaps: { ms: number }[]) => Math.max(0, ...gaps.map(({ ms }) => ms))
