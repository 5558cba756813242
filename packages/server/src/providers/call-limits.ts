/** A call that is ended from outside when it takes too long or is not wanted any more. */
export interface Limited {
  outOfTime(limitMs: number): void
  stopped(): void
}

/** The calls of one time limit and one signal. */
export interface CallGroup {
  /** The call is over. */
  remove(call: Limited): void
}

/**
 * Ends calls at their time limit, or when their signal aborts. A timer and a listener for each cost more than the rest
 * of a call's bookkeeping when thousands are under way, so calls with the same limit and signal share one of each.
 */
export function createCallLimits(now: () => number = () => performance.now()) {
  const withoutSignal = new Map<number, Group>()
  const bySignal = new WeakMap<AbortSignal, Map<number, Group>>()
  // Nearly always the same as for the call before.
  let last: { group: Group; signal: AbortSignal | undefined; limitMs: number } | undefined

  function groupOf(limitMs: number, signal: AbortSignal | undefined): Group {
    if (last && last.signal === signal && last.limitMs === limitMs) return last.group
    let groups = signal ? bySignal.get(signal) : withoutSignal
    if (!groups) {
      groups = new Map()
      if (signal) bySignal.set(signal, groups)
    }
    let group = groups.get(limitMs)
    if (!group) {
      group = createGroup(limitMs, now)
      groups.set(limitMs, group)
      signal?.addEventListener('abort', group.stopAll, { once: true })
    }
    last = { group, signal, limitMs }
    return group
  }

  return {
    /** Watches over a call from now on, until it is removed from the group that it belongs to. */
    watch(call: Limited, limitMs: number, signal: AbortSignal | undefined): CallGroup {
      const group = groupOf(limitMs, signal)
      group.add(call)
      return group
    },
  }
}

type Group = ReturnType<typeof createGroup>

function createGroup(limitMs: number, now: () => number) {
  /** With when each began. In that order, so the first is the first to be out of time. */
  const calls = new Map<Limited, number>()
  let timer: NodeJS.Timeout | undefined

  function endTheLate(): void {
    timer = undefined
    const time = now()
    for (const [call, began] of calls) {
      const leftMs = began + limitMs - time
      if (leftMs > 0) {
        timer = setTimeout(endTheLate, Math.ceil(leftMs))
        return
      }
      calls.delete(call)
      call.outOfTime(limitMs)
    }
  }

  return {
    add(call: Limited): void {
      calls.set(call, now())
      timer ??= setTimeout(endTheLate, limitMs)
    },
    remove(call: Limited): void {
      calls.delete(call)
      if (calls.size > 0) return
      // Nothing is left that a process should stay for.
      clearTimeout(timer)
      timer = undefined
    },
    stopAll(): void {
      for (const call of [...calls.keys()]) call.stopped()
    },
  }
}
