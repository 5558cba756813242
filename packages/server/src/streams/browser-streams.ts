/** The open streams of this process by browser, so that one browser has one, whatever its tabs believe (F5). */
export interface BrowserStreams {
  /**
   * Lets a stream in. It ends the one that the same browser already has for this user, unless that one belongs to
   * a newer leader: then null. Of two with the same epoch the later one wins, since it is a reconnect.
   */
  enter(stream: BrowserStream): (() => void) | null
}

export interface BrowserStream {
  userId: string
  browserId: string
  /** Rises by one with every change of the leading tab. */
  epoch: number
  supersede(): void
}

/** For one process: streams of one browser on two replicas are kept apart only by the browser itself. */
export function createBrowserStreams(): BrowserStreams {
  const open = new Map<string, BrowserStream>()

  return {
    enter(stream) {
      const key = JSON.stringify([stream.userId, stream.browserId])
      const before = open.get(key)
      if (before && before.epoch > stream.epoch) return null
      open.set(key, stream)
      before?.supersede()
      return () => {
        if (open.get(key) === stream) open.delete(key)
      }
    },
  }
}
