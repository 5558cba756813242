/** What a server process is told, and what it answers. */
export type ServerOrder =
  /** How much memory it uses, after collecting garbage. */
  | { kind: 'memory' }
  /** Send to all streams as fast as they take it. */
  | { kind: 'saturate'; forMs: number }
  /** End one task each of so many users, one after the other. */
  | { kind: 'settle'; count: number; perSecond: number }

export type ServerAnswer =
  | { kind: 'ready'; port: number }
  | { kind: 'memory'; rssBytes: number; heapBytes: number; open: number }
  | { kind: 'saturated'; cpuMs: number }
  /** When each was ended, by the clock that all processes share. */
  | { kind: 'settled'; at: Record<string, number> }

/** Which server, and of how many users with how many streams each. */
export interface ServerSettings {
  databaseUrl: string
  users: number
  streamsPerUser: number
}

export type ClientsOrder =
  | { kind: 'open'; port: number; server: string; tokens: string[] }
  | { kind: 'count'; server: string }
  | { kind: 'arrivals' }
  | { kind: 'close'; server: string }

export type ClientsAnswer =
  | { kind: 'open' }
  /** Messages that came since the last time. */
  | { kind: 'count'; messages: number }
  /** When the last stream of this process was told of the end of each task. */
  | { kind: 'arrivals'; last: Record<string, number>; streams: Record<string, number> }
  | { kind: 'closed' }

/** Milliseconds on a clock that is the same in every process of one machine. */
export function sharedNow(): number {
  return Number(process.hrtime.bigint()) / 1e6
}
