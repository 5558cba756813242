import { listen } from '../environment/listen.ts'
import { randomId } from '../environment/random-id.ts'
import type { ChannelPort } from './tab-channel.ts'

/**
 * Where there is no BroadcastChannel (Safari before 15.4), writes to localStorage reach the other tabs as `storage`
 * events. Each value differs from the one before, since only a change is an event.
 */
export function openStoragePort(
  storage: Pick<Storage, 'getItem' | 'setItem'>,
  page: EventTarget,
  name: string,
): ChannelPort {
  const key = `${name}:channel`
  const port: ChannelPort = {
    onmessage: null,
    postMessage: (message) => storage.setItem(key, JSON.stringify([message, randomId()])),
    close: () => stop(),
  }
  function receive(event: Event) {
    const { key: changed, newValue } = event as StorageEvent
    if (changed !== key || !newValue) return
    try {
      port.onmessage?.({ data: JSON.parse(newValue)[0] } as MessageEvent)
    } catch {
      // Somebody else's value under our key.
    }
  }
  // WebKit sends storage events only to pages that have touched localStorage.
  storage.getItem(key)
  const stop = listen(page, { storage: receive })
  return port
}
