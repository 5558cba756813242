export interface CreditsOptions {
  /** What every user is given when first seen. @default 0 */
  initial?: number
}

/** Refuses settings that could not be granted. */
export function assertCreditsOptions({ initial = 0 }: CreditsOptions): void {
  if (!Number.isSafeInteger(initial) || initial < 0) {
    throw new Error(`credits.initial is ${initial}; it must be a whole number, 0 or more.`)
  }
}
