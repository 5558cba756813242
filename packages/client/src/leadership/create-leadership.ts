import { listen } from '../environment/listen.ts'
import { createMachine } from '../state-machine.ts'
import { ELECTION, RESTING } from './election.ts'
import type { Leadership, LeadershipEvents, LeadershipOptions } from './leadership.ts'
import { RENEW_MS } from './lease.ts'
import type { Hold } from './level.ts'

/** Does what the rules of `election.ts` say, with locks, timers and the channel, and tells them what comes of it. */
export function createLeadership(options: LeadershipOptions): Leadership {
  const { clock, leases, channel, page, isVisible, random } = options
  const [...levels] = options.levels
  let level = options.levels[0]
  let events: LeadershipEvents | undefined
  let hiddenSince: number | null = null

  const { state, send, sendLater, life } = createMachine({
    table: ELECTION,
    initial: RESTING,
    clock,
    look() {
      const now = clock.now()
      return {
        now,
        visible: isVisible(),
        hiddenMs: now - (hiddenSince ?? now),
        leaseExpired: (leases.seen()?.expiresAt ?? 0) <= now,
        highest: leases.highest(),
        level,
        random,
      }
    },
    perform: {
      contend: () => take(level.tryTake(), 'free'),
      wait: () => take(level.waitFor(life()), 'freed'),
      ask() {
        const signal = life()
        void channel?.ping(null).then((pong) => {
          if (signal.aborted) return
          if (!pong) return send({ type: 'no-answer' })
          leases.highest(pong.message.epoch)
          send({ type: 'pong', visible: pong.visible, protocol: pong.holdfast })
        })
      },
      steal: ({ epoch, why }) =>
        void level.steal(epoch).then(
          (hold) => hold && send({ type: 'granted', hold, why }),
          // As if somebody else had been faster: the next look tries again.
          () => {},
        ),
      lead({ hold }) {
        hold.lost.then(() => send({ type: 'lost', hold }))
        leases.show(hold.epoch)
        events?.lead(level.exclusive, hold.epoch)
      },
      async renew({ hold }) {
        const signal = life()
        // A renewal that fails for want of a database is no proof of anything: the epoch decides.
        const ours = await hold.renew().catch(() => true)
        if (!ours) send({ type: 'lost', hold })
        else if (!signal.aborted) leases.show(hold.epoch)
      },
      release: ({ hold }) => hold.release(),
      follow: ({ understood }) => events?.follow(understood),
      'hide-lease': leases.hide,
      post: ({ message }) => channel?.post(message),
      later: ({ send: type, ms }) =>
        sendLater({ type }, ms, (late) => {
          if (late > ms + RENEW_MS) events?.wake()
        }),
    },
  })

  function take(asked: Promise<Hold | null>, why: 'free' | 'freed') {
    const signal = life()
    asked.then(
      (hold) => {
        if (signal.aborted) hold?.release()
        else send(hold ? { type: 'granted', hold, why } : { type: 'not-granted' })
      },
      () => {
        if (signal.aborted) return
        levels.shift()
        level = levels[0] ?? level
        send({ type: 'level-broken' })
      },
    )
  }

  function onVisibility() {
    hiddenSince = isVisible() ? null : (hiddenSince ?? clock.now())
    send({ type: hiddenSince === null ? 'shown' : 'hidden' })
  }

  let undo = () => {}
  return {
    start(given) {
      events = given
      // A page in the back/forward cache or frozen runs no code but would keep the lock, and the others waiting.
      const away = () => {
        if (state().is === 'resting') return
        // While it still leads: it may have something to save.
        given.rest()
        send({ type: 'page-away' })
      }
      const back = () => send({ type: 'page-back' })
      undo = listen(page, {
        visibilitychange: onVisibility,
        pagehide: away,
        freeze: away,
        pageshow: back,
        resume: back,
      })
      onVisibility()
      back()
    },
    stop() {
      undo()
      events = undefined
      send({ type: 'page-away' })
    },
    epoch() {
      const now = state()
      return now.is === 'leading' ? now.hold.epoch : leases.highest()
    },
    stillLeads() {
      send({ type: 'looked' })
      return state().is === 'leading'
    },
    isCurrent(epoch) {
      const isNewest = leases.highest(epoch) <= epoch
      send({ type: 'looked' })
      return isNewest
    },
    superseded: () => send({ type: 'superseded' }),
    hear(message, from) {
      send({ type: 'heard' })
      const { kind } = message
      if (kind === 'offer' || (kind === 'yours' && message.to === options.tabId)) send({ type: kind })
      else if (kind === 'claim') send({ type: kind, from })
      else if (kind === 'bye') send({ type: kind, epoch: message.epoch })
    },
    inspect: () => ({ level: level.name, reason: state().reason }),
  }
}
