import type { ChannelPort } from '../../tabs/tab-channel.ts'

type OpenChannel = (name: string) => ChannelPort

/** A dead tab says nothing and hears nothing. */
export function createSimulatedChannels(open: OpenChannel, death: AbortSignal): OpenChannel {
  return (name) => {
    const real = open(name)
    const port: ChannelPort = {
      onmessage: null,
      postMessage(message) {
        if (!death.aborted) real.postMessage(message)
      },
      close() {
        death.removeEventListener('abort', port.close)
        real.close()
      },
    }
    real.onmessage = (event) => {
      if (!death.aborted) port.onmessage?.(event)
    }
    death.addEventListener('abort', port.close)
    return port
  }
}
