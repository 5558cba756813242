/** Whose token it is, and how long it is good for. */
export interface Identity {
  userId: string
  /** A stream opened with the token ends then. Null: it does not expire. */
  expiresAt: Date | null
  /** May see and mend what is everyone's. @default false */
  admin?: boolean
  /** What the user pays for, such as `pro`: lanes and keeping times may depend on it. @default null */
  plan?: string | null
  /** The app's own backend, acting for this user by a service key. @default false */
  isService?: boolean
}

/**
 * Turns a bearer token into an identity. Throws `HoldfastError` with `TOKEN_INVALID`, `TOKEN_EXPIRED`, or
 * `UNAVAILABLE` when the issuer's keys cannot be had right now.
 */
export type Authenticate = (token: string) => Promise<Identity>
