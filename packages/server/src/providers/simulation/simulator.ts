import type { RateLimit } from './rate-window.ts'
import type { Ending, Script } from './simulated-task.ts'

/** What every simulator can be told at its start. */
export interface SimulatorOptions {
  /** @default 0, any free one */
  port?: number
  /** @default '127.0.0.1' */
  host?: string
  /** Where tasks are kept over a restart. Without it they are in memory only. */
  stateFile?: string
  /** The key that is accepted. Without it any key is. */
  apiKey?: string
  /** 2 = everything takes half as long. @default 1 */
  speed?: number
  /** The origin in result URLs, if users reach this server by another name than `url`. */
  publicUrl?: string
  /** Creates let through. @default the vendor's own */
  rateLimit?: RateLimit
  /** How long result URLs work. @default the vendor's own */
  fileTtlMs?: number
  /** Wait between the attempts of a webhook. @default 1000 */
  webhookRetryMs?: number
  now?: () => number
  random?: () => number
  log?: (line: string) => void
}

/** One request to the vendor's API; result files and the simulator's own routes are not among them. */
export interface SimulatorRequest {
  method: string
  path: string
  /** With its question mark; empty where there is none. */
  search: string
  taskId?: string
  userAgent: string
  at: number
}

/** A simulated vendor that is running. The same can be done by HTTP, under `/simulator/`. */
export interface Simulator {
  url: string
  port: number
  /** The requests received, oldest first; the last 10,000. Also `GET /simulator/requests`. */
  requests(): readonly SimulatorRequest[]
  /** How many tasks were accepted, over restarts if there is a state file. */
  creates(): number
  /**
   * Scripts the next create, with words as in a prompt or with whole state sequences. Calls queue up.
   * Also `POST /simulator/script` with `{ words, steps, ending }`.
   *
   *     simulator.script('lost')
   *     simulator.script({ steps: [{ phase: 'working', says: 'POLISHING', forMs: 2_000 }], ending: 'failed' })
   */
  script(...parts: (string | Script)[]): void
  /** Ends a task now. Also `POST /simulator/finish` with `{ taskId, ending }`. */
  finish(taskId: string, ending?: Ending): void
  /** Sends the webhooks that are due by the clock, and waits for them. For clocks that are moved by hand. */
  sendWebhooks(): Promise<void>
  close(): Promise<void>
}
