/** By which way a client comes: the guide's settings over either HTTP, or nginx's own defaults. */
export type Way = 'HTTP/2' | 'HTTP/1.1' | 'nginx defaults'
export const WAYS: readonly Way[] = ['HTTP/2', 'HTTP/1.1', 'nginx defaults']

export interface ClientSettings {
  name: string
  way: Way
  userId: string
  token: string
}

export interface ClientsSettings {
  /** Where clients find the server, by their way. */
  urls: Record<Way, string>
  /** Vouches for the certificate. */
  ca: string
  clients: ClientSettings[]
}

export type ClientsOrder =
  | { kind: 'open'; settings: ClientsSettings }
  | { kind: 'least' }
  | { kind: 'report' }
  | { kind: 'close' }

export interface ClientReport {
  name: string
  way: Way
  userId: string
  /** The name by which servers know it. */
  browser: string
  connection: string
  /** When it was first told that this task is completed, by the machine's clock; task id → milliseconds. */
  completedAt: Record<string, number>
  /** When a stream of its began with a snapshot, likewise. */
  beganAt: number[]
  /** How many tasks its store has as completed. */
  completed: number
  /** States that were older than one it had been shown. */
  wentBack: number
  /** Whether its last connection was agreed to be HTTP/2. */
  spokeH2: boolean
}

export type ClientsAnswer =
  | { kind: 'ready' }
  | { kind: 'opened' }
  /** How many completed tasks the client has that has the fewest. Costs little, so it can be asked while measuring. */
  | { kind: 'least'; completed: number }
  | { kind: 'report'; clients: ClientReport[] }
  | { kind: 'closed' }
