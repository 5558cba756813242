import { Redis } from 'ioredis'
import type { OpenChannel } from './channel.ts'

export interface RedisChannelOptions {
  url: string
  /** @default 'holdfast:bus' */
  name?: string
}

/** Redis pub/sub: one connection that listens, one that speaks. */
export function redisChannel({ url, name = 'holdfast:bus' }: RedisChannelOptions): OpenChannel {
  return (listener) => {
    const settings = {
      // What cannot be sent now is not worth sending later.
      enableOfflineQueue: false,
      maxRetriesPerRequest: 0,
      retryStrategy: (times: number) =>
        Math.min(1_000, 50 * 2 ** Math.min(times, 10)) * (0.5 + Math.random() / 2),
      connectTimeout: 5_000,
      keepAlive: 10_000,
    }
    const speaker = new Redis(url, { ...settings, connectionName: 'holdfast-bus', commandTimeout: 5_000 })
    const hearer = new Redis(url, {
      ...settings,
      connectionName: 'holdfast-bus-listen',
      autoResubscribe: false,
    })
    // Told by the senders, once each; an error without a listener would end the process.
    speaker.on('error', () => {})
    hearer.on('error', () => {})
    hearer.on('ready', () => {
      hearer.subscribe(name).then(listener.connected, () => hearer.disconnect(true))
    })
    hearer.on('message', (_, text) => listener.message(text))

    return {
      maxBytes: 1024 * 1024,
      over: 'Redis',
      async send(texts) {
        await Promise.all(texts.map((text) => speaker.publish(name, text)))
      },
      renew: () => hearer.disconnect(true),
      async close() {
        speaker.disconnect()
        hearer.disconnect()
      },
    }
  }
}
