import { AsyncLocalStorage } from 'node:async_hooks'
import type { ChannelPort, OpenChannel } from '../src/tabs/tab-channel.ts'
import { MemoryStorage } from './memory-storage.ts'

/** A page with globals of its own: what runs in it, and whatever follows from that, sees them. */
export interface Page {
  window: EventTarget & { localStorage: Pick<Storage, 'getItem' | 'setItem' | 'removeItem'> }
  run<T>(inside: () => T): T
  /** The same channels: all they do is done in this page, also when another page calls them. */
  within(open: OpenChannel): OpenChannel
}

const current = new AsyncLocalStorage<Page>()

/** From here on, for the whole file: no BroadcastChannel, and Node's one set of globals differs by page. */
function replaceGlobals() {
  const document = { createEvent: () => new Event('none'), visibilityState: 'visible' }
  const define = (name: string, get: () => unknown) =>
    Object.defineProperty(globalThis, name, { configurable: true, get })
  define('BroadcastChannel', () => undefined)
  define('document', () => document)
  define('window', () => current.getStore()?.window)
  define('localStorage', () => current.getStore()?.window.localStorage)
}

/**
 * Pages of one origin in a browser without BroadcastChannel: a write to localStorage in one is a `storage` event in all
 * the others.
 */
export function createPages(): { openPage(): Page; items: MemoryStorage } {
  replaceGlobals()
  const items = new MemoryStorage()
  const pages = new Set<Page>()

  function openPage(): Page {
    function tellOthers(key: string, newValue: string | null) {
      for (const other of pages) {
        if (other === page) continue
        const event = Object.assign(new Event('storage'), { key, newValue })
        other.run(() => other.window.dispatchEvent(event))
      }
    }
    const localStorage = {
      getItem: (key: string) => items.getItem(key),
      setItem(key: string, value: string) {
        items.setItem(key, value)
        tellOthers(key, value)
      },
      removeItem(key: string) {
        items.removeItem(key)
        tellOthers(key, null)
      },
    }
    const page: Page = {
      window: Object.assign(new EventTarget(), { localStorage }),
      run: (inside) => current.run(page, inside),
      within: (open) => async (name) => {
        const real = await page.run(() => open(name))
        const port: ChannelPort = {
          onmessage: null,
          postMessage: (message) => page.run(() => real.postMessage(message)),
          close: () => page.run(() => real.close()),
        }
        real.onmessage = (event) => port.onmessage?.(event)
        return port
      },
    }
    pages.add(page)
    return page
  }
  return { openPage, items }
}
