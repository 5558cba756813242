import type { ChannelPort, OpenChannel } from '../../tabs/tab-channel.ts'

/** A dead tab says nothing and hears nothing. */
export function createSimulatedChannels(open: OpenChannel, death: AbortSignal): OpenChannel {
  function simulate(real: ChannelPort) {
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
  return (name) => {
    const real = open(name)
    return real instanceof Promise ? real.then(simulate) : simulate(real)
  }
}
