/** What the benchmark asks the vendor's process. `reset` comes before each measurement. */
export type VendorOrder = { kind: 'reset' } | { kind: 'served'; files: number }

export type VendorAnswer =
  | { kind: 'ready'; url: string }
  | { kind: 'reset' }
  /** Answered when so many different files were fetched, with the prompts of those fetched last, newest first. */
  | { kind: 'served'; last: string[] }
