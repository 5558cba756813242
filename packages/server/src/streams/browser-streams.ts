import type { OpenedStream } from '../bus/bus.ts'

/** The open streams of this process by browser, so that one browser has one, whatever its tabs believe (F5). */
export interface BrowserStreams {
  /**
   * Lets a stream in. It ends the one that the same browser already has for this user, unless that one belongs to
   * a newer leader: then null. Of two with the same epoch the later one wins, since it is a reconnect.
   */
  enter(stream: BrowserStream): (() => void) | null
  /**
   * A stream has opened at another replica: an older one here ends. One with the same epoch stays, since which of the two
   * came later nobody knows; and of one that is newer than what was heard of, the others should hear: it is returned.
   */
  hear(elsewhere: OpenedStream): OpenedStream | null
}

export interface BrowserStream extends OpenedStream {
  supersede(): void
}

export function createBrowserStreams(): BrowserStreams {
  const open = new Map<string, BrowserStream>()
  const keyOf = ({ userId, browserId }: OpenedStream) => JSON.stringify([userId, browserId])

  return {
    enter(stream) {
      const key = keyOf(stream)
      const before = open.get(key)
      if (before && before.epoch > stream.epoch) return null
      open.set(key, stream)
      before?.supersede()
      return () => {
        if (open.get(key) === stream) open.delete(key)
      }
    },
    hear(elsewhere) {
      const key = keyOf(elsewhere)
      const own = open.get(key)
      if (!own || own.epoch === elsewhere.epoch) return null
      if (own.epoch > elsewhere.epoch) return own
      open.delete(key)
      own.supersede()
      return null
    },
  }
}
