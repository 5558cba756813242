/** Runs in the browser: what can go wrong around a page, as the page sees it. */

/** Every write to IndexedDB fails as it does on a full disk. Reading works. */
export function setFull(isFull: boolean): void {
  IDBObjectStore.prototype.put = isFull ? refuse : put
}

const { put } = IDBObjectStore.prototype

function refuse(): never {
  throw new DOMException('The disk is full.', 'QuotaExceededError')
}

const TrueDate = Date

/** From here on, the clock that the page sees is off by so much. */
export function setClockOff(ms: number): void {
  globalThis.Date = ms === 0 ? TrueDate : clockOffBy(ms)
}

function clockOffBy(ms: number): DateConstructor {
  return class extends TrueDate {
    constructor(...given: unknown[]) {
      // @ts-expect-error Whatever a date can be made of.
      super(...(given.length === 0 ? [TrueDate.now() + ms] : given))
    }
    static override now() {
      return TrueDate.now() + ms
    }
  } as DateConstructor
}

/** Nothing that other tabs say is delivered to this page; what it says reaches them. To be called before anything else. */
export function beDeaf(): void {
  Object.defineProperty(BroadcastChannel.prototype, 'onmessage', { get: () => null, set() {} })
  BroadcastChannel.prototype.addEventListener = () => {}
}
