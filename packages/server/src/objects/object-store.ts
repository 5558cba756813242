/** What is known of a stored object. */
export interface StoredObject {
  bytes: number
  contentType: string
}

export interface PutOptions {
  contentType: string
  /** Where the length is known beforehand. A body that turns out longer or shorter is refused and nothing is stored. */
  bytes?: number
  /** The SHA-256 of the body as hex, to be asked for when it has ended, where the caller finds it out anyway. */
  sha256?: () => string
  signal?: AbortSignal
}

/**
 * Where result files are kept: one bucket, or one folder. Keys are relative paths of `[A-Za-z0-9._/-]`, without empty
 * or dotted segments.
 */
export interface ObjectStore {
  readonly name: 'filesystem' | 's3' | 'supabase'
  /**
   * Looks whether the place is there and may be used. Rejects with an `ObjectStoreError` (`STORE_UNUSABLE`) if it
   * certainly is not; with any other error if nobody could say.
   */
  check(signal?: AbortSignal): Promise<void>
  /**
   * Stores all of `body`, or nothing: a reader sees the old object or the new one, never a part. A repeat overwrites.
   * The body is streamed and never whole in memory. A failed one leaves nothing behind; only when the answer to the
   * very last request is lost it may have been stored all the same, and a repeat settles that. It rejects with what the
   * body has thrown, or with the reason of the signal, where those were the cause.
   */
  put(key: string, body: AsyncIterable<Uint8Array>, options: PutOptions): Promise<void>
  /** Null if there is no such object. A place that is gone is an error, here and below: it does not count as empty. */
  head(key: string, signal?: AbortSignal): Promise<StoredObject | null>
  /**
   * URLs at which anybody can read these objects until they expire, one for each key and in that order. They answer
   * range requests. Signing needs no object to be there.
   */
  signUrls(keys: readonly string[], options: { expiresInMs: number }): Promise<string[]>
  /** Deleting what is not there is no error. */
  delete(keys: readonly string[], signal?: AbortSignal): Promise<void>
  /** All keys that begin with `prefix`, in no particular order. */
  list(prefix: string, signal?: AbortSignal): AsyncIterable<string>
  /** Closes connections. Idempotent. */
  close(): Promise<void>
}
