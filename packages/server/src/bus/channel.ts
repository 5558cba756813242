import type { Dependency } from '../outage-log.ts'

/** What a channel tells its bus. */
export interface ChannelListener {
  message(text: string): void
  /** Connected, for the first time or again: what was sent meanwhile is lost. */
  connected(): void
}

/** Carries texts to all replicas, the sender included: once or never, those of one sender in order. */
export interface Channel {
  /** The longest text that it takes, in bytes. */
  readonly maxBytes: number
  /** Over what, so that its outage is told once for all who use it. */
  readonly over?: Dependency
  /** Rejects while it is away; nothing is kept for later. */
  send(texts: readonly string[]): Promise<void>
  /** Drops the connection, because nothing is heard over it any more; another one is opened. */
  renew(): void
  close(): Promise<void>
}

export type OpenChannel = (listener: ChannelListener) => Channel
