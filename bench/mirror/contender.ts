/** Somebody who copies files. */
export interface Contender {
  /** Gets ready to copy so many files of so many bytes. */
  prepare(files: number, bytes: number): Promise<Pass>
  close(): Promise<void>
}

export interface Pass {
  /** Copies them all and resolves when the last is stored: this is measured. */
  run(): Promise<void>
  /** Throws if anything is not as it should be. */
  check(): Promise<void>
}
