export const CONTENDERS = [
  'bare',
  'holdfast',
  'bullmq',
  'pgBoss',
  'pgBossBulk',
  'graphileWorker',
  'naive',
] as const
export type ContenderName = (typeof CONTENDERS)[number]

/** What a contender's process is told. */
export interface ContenderSettings {
  contender: ContenderName
  /** A database of its own on the server that all share; empty for those who need none. */
  databaseUrl: string
  /** Where the meter reads the server's own figures, outside the contender's database. */
  meterUrl: string
  redisPort: number
  providerUrl: string
  /** The servers' processes, whose CPU time is measured along. */
  pids: { provider: number; postgres: number; redis: number }
  /** How many tasks there are; each is polled once per pass. */
  tasks: number
  /** Passes are repeated until they have taken this long together. */
  measureForMs: number
}

/** When a task is due again after a poll at the peers: longer than any pass takes. */
export const NEXT_POLL_MS = 120_000

/** The external id of the n-th task, in the form of KIE's. Everyone's requests are of the same length. */
export function externalIdOf(index: number): string {
  return `task_nano-banana_17632${String(index).padStart(8, '0')}`
}
