import { BroadcastChannel } from 'broadcast-channel'
import type { ChannelPort } from './tab-channel.ts'

/** More than the package writes around a message: a token, two times and the name of the sender. */
const ENVELOPE = 'x'.repeat(300)

/**
 * Where there is no BroadcastChannel (Safari before 15.4), writes to localStorage reach the other tabs as `storage`
 * events. Import it only there, as a chunk of its own: nobody else needs this code. Throws where nothing can be stored.
 */
export function openStorageChannel(
  name: string,
  storage: Pick<Storage, 'setItem' | 'removeItem'>,
): ChannelPort {
  const channel = new BroadcastChannel<unknown>(name, { type: 'localstorage' })
  const port: ChannelPort = {
    onmessage: null,
    postMessage(message) {
      // The package writes a moment later, where nobody could catch the error if there is no room.
      const key = `${name}:room`
      storage.setItem(key, JSON.stringify(message) + ENVELOPE)
      storage.removeItem(key)
      void channel.postMessage(message).then(() => {
        // The package leaves its last message there, which would outlive a log-out. Not removed: it would take that for one.
        storage.setItem(`pubkey.broadcastChannel-${name}`, '{}')
      })
    },
    close: () => void channel.close(),
  }
  channel.onmessage = (data) => port.onmessage?.({ data } as MessageEvent)
  return port
}
