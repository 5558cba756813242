import { errorCode, isDatabaseAway } from '../database/database-errors.ts'

/**
 * What trying again would not change.
 *
 * `STORE_UNUSABLE`: the place itself is not there or not ours to use: no such bucket, a key that is refused, a folder
 * that was unmounted. An operator has to act. `STORE_REFUSED`: the place takes other files, but not this one.
 */
export class ObjectStoreError extends Error {
  override readonly name = 'ObjectStoreError'
  readonly code: 'STORE_UNUSABLE' | 'STORE_REFUSED'

  constructor(code: ObjectStoreError['code'], message: string) {
    super(message)
    this.code = code
  }
}

/** Whether the store could not be used at all, as opposed to having answered with an error. */
export function isStoreAway(error: unknown): boolean {
  // What tells that a database cannot be reached tells it of any other server.
  return errorCode(error) === 'STORE_UNUSABLE' || isDatabaseAway(error)
}
