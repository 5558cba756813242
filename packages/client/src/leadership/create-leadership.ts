import { sleep } from '../environment/clock.ts'
import { listen } from '../environment/listen.ts'
import { PROTOCOL } from '../tabs/tab-message.ts'
import type { Leadership, LeadershipEvents, LeadershipOptions, RoleReason } from './leadership.ts'
import { RENEW_MS } from './lease.ts'
import type { Hold } from './level.ts'

/** How long a leader may be hidden before a visible tab takes over. */
const HIDDEN_MS = 5_000
/**
 * How often a follower that can be seen asks for the leader, and a hidden one looks at the lease. With the two seconds
 * for an answer, a leader that stands still is replaced within four.
 */
const LOOK_MS = 1_500
/** A tab that was handed the lead takes it at once, or is gone. */
const HAND_OVER_MS = 2_000

/**
 *     resting ──► asking ──► leading ──stolen, superseded, handed over──► following
 *                    └─────► following ──freed, handed to us, leader does not answer──► leading
 */
export function createLeadership(options: LeadershipOptions): Leadership {
  const { clock, leases, channel, page, isVisible } = options
  const [...levels] = options.levels
  let level = options.levels[0]
  let events: LeadershipEvents | undefined
  let contest = new AbortController()
  let hold: Hold | null = null
  let leading = false
  let resting = true
  let reason: RoleReason = 'away'
  let hiddenAt = Number.POSITIVE_INFINITY
  let challenging = false
  const timers = new Set<() => void>()

  const expired = () => (leases.seen()?.expiresAt ?? 0) <= clock.now()

  function later(ms: number, run: () => void) {
    const cancel = clock.after(ms, () => {
      timers.delete(cancel)
      run()
    })
    timers.add(cancel)
  }

  function every(ms: number, run: () => void) {
    const at = clock.now()
    later(ms, () => {
      if (clock.now() - at > 2 * ms + RENEW_MS) events?.wake()
      every(ms, run)
      run()
    })
  }

  /** From here on this tab neither applies nor passes on anything as a leader. */
  function standDown(why: RoleReason) {
    leading = false
    reason = why
    for (const cancel of timers) cancel()
    timers.clear()
  }

  function adopt(taken: Hold, why: RoleReason) {
    contest.abort()
    standDown(why)
    hold = taken
    taken.lost.then(() => {
      if (hold === taken) robbed()
    })
    leading = true
    leases.show(taken.epoch)
    every(RENEW_MS, () => void renew(taken))
    watchHiding()
    events?.lead(level.exclusive, taken.epoch)
  }

  async function renew(taken: Hold) {
    if (!stillLeads()) return
    // A renewal that fails for want of a database is no proof of anything: the epoch decides.
    const ours = await taken.renew().catch(() => true)
    if (hold !== taken || !leading) return
    if (ours) leases.show(taken.epoch)
    else robbed()
  }

  function letGo() {
    hold?.release()
    hold = null
  }

  function follow(why: RoleReason) {
    standDown(why)
    events?.follow(true)
  }

  function robbed(pause = 0) {
    if (leading) follow('robbed')
    letGo()
    void contend(pause)
  }

  function watchLeader() {
    follow('other-leads')
    every(LOOK_MS, () => {
      if (isVisible() || expired()) void challenge()
    })
    void challenge()
  }

  /** Leads if it is free, else follows and waits. Goes down the ladder where a level does not work. */
  async function contend(pause = 0) {
    contest.abort()
    resting = false
    const mine = new AbortController()
    contest = mine
    const { signal } = mine
    if (pause > 0) await sleep(clock, pause, signal)
    for (;;) {
      try {
        let taken = signal.aborted ? null : await level.tryTake()
        const why = taken ? 'free' : 'freed'
        if (!taken && !signal.aborted) {
          watchLeader()
          taken = await level.waitFor(signal)
        }
        if (signal.aborted) return taken?.release()
        // Else our turn came and went while this tab stood still.
        if (taken) return adopt(taken, why)
      } catch {
        // Forbidden here (sandboxed frames, blocked site data).
        if (signal.aborted) return
        levels.shift()
        level = levels[0] ?? level
      }
    }
  }

  /** Asks whether the leader is there, and takes over when it is not. */
  async function challenge() {
    if (challenging || !channel) return
    challenging = true
    const { signal } = contest
    const epoch = leases.highest()
    const pong = await channel.ping(null)
    challenging = false
    if (signal.aborted || leading) return
    if (pong) {
      isCurrent(pong.message.epoch)
      if (pong.holdfast !== PROTOCOL) events?.follow(false)
      return
    }
    // A hidden tab leaves it to a visible one, unless nothing but us would ever free it.
    if (!isVisible() && (level.freesItself || !expired())) return
    if (isCurrent(epoch)) await take(epoch, 'no-answer')
  }

  async function take(epoch: number, why: RoleReason) {
    const taken = await level.steal(epoch).catch(() => null)
    if (!taken) return
    // Should waiting have been granted meanwhile, the newer hold is the one that counts.
    if (resting) taken.release()
    else adopt(taken, why)
  }

  function watchHiding() {
    hiddenAt = isVisible() ? Number.POSITIVE_INFINITY : Math.min(hiddenAt, clock.now())
    if (isVisible() || !leading) return
    later(HIDDEN_MS, () => {
      if (hiddenLong()) channel?.post({ kind: 'offer' })
    })
  }

  const hiddenLong = () => leading && level.exclusive && clock.now() - hiddenAt >= HIDDEN_MS

  /** The lock stays ours until the other tab takes it, so that no third one gets in between. */
  function handOver(to: string) {
    const given = hold
    follow('handed-over')
    channel?.post({ kind: 'yours', to })
    later(HAND_OVER_MS, () => {
      if (given && hold === given && !leading) robbed()
    })
  }

  function onVisibility() {
    watchHiding()
    if (!isVisible() || leading || resting) return
    channel?.post({ kind: 'claim' })
    void challenge()
  }

  function isCurrent(epoch: number) {
    const isNewest = leases.highest(epoch) <= epoch
    if (leading && level.exclusive && leases.highest() > (hold?.epoch ?? 0)) robbed()
    return isNewest
  }

  function stillLeads() {
    isCurrent(0)
    return leading
  }

  function rest() {
    contest.abort()
    resting = true
    const given = leading && hold
    standDown('away')
    leases.hide()
    letGo()
    if (given) channel?.post({ kind: 'bye', epoch: given.epoch })
  }

  let undo = () => {}
  return {
    start(given) {
      events = given
      // A page in the back/forward cache or frozen runs no code but would keep the lock, and the others waiting.
      const away = () => {
        if (resting) return
        given.rest()
        rest()
      }
      const back = () => {
        if (resting) void contend()
      }
      undo = listen(page, {
        visibilitychange: onVisibility,
        pagehide: away,
        freeze: away,
        pageshow: back,
        resume: back,
      })
      void contend()
    },
    stop() {
      undo()
      rest()
      events = undefined
    },
    epoch: () => (leading && hold ? hold.epoch : leases.highest()),
    stillLeads,
    isCurrent,
    superseded() {
      if (leading) robbed(1_000 + options.random() * 1_000)
    },
    hear(message, from) {
      if (resting) return
      if (message.kind === 'offer' && isVisible() && !leading) channel?.post({ kind: 'claim' })
      else if (message.kind === 'claim' && hiddenLong()) handOver(from)
      else if (message.kind === 'yours' && message.to === options.tabId && !leading) {
        void take(leases.highest(), 'handed-to-us')
      } else if (message.kind === 'bye' && !leading && !level.freesItself) {
        // A page that closes has no time to write that it let go: its word is enough.
        void take(message.epoch, 'freed')
      }
    },
    inspect: () => ({ level: level.name, reason }),
  }
}
