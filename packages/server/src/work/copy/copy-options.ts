export interface MirrorOptions {
  /** Files larger than this stay at their provider. @default 2 GiB */
  maxBytes: number
  /** How many files this process copies at once. @default 8 */
  concurrency: number
  /** Lets sources on this machine be fetched, for simulators. Never set it where users can choose URLs. @default false */
  allowLoopback: boolean
  /** How long the URLs that users get for stored files work. Each is given out for half of that. @default 2 h */
  urlLifetimeMs: number
  /** What a claim is good for; renewed while a file is being copied. @default 15000 */
  leaseMs: number
}

export const defaultMirrorOptions: MirrorOptions = {
  maxBytes: 2 * 1024 ** 3,
  concurrency: 8,
  allowLoopback: false,
  urlLifetimeMs: 2 * 60 * 60_000,
  leaseMs: 15_000,
}
