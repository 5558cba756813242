export const CONTENDERS = ['bare', 'holdfast'] as const
export type ContenderName = (typeof CONTENDERS)[number]

/** A real S3 to copy to, instead of a folder. */
export interface S3Settings {
  endpoint: string
  accessKeyId: string
  secretAccessKey: string
  bucket: string
}

/** The one argument of `contender-process.ts`, as JSON. */
export interface ContenderSettings {
  contender: ContenderName
  sourceUrl: string
  /** Of its own, and migrated; empty for `bare`. */
  databaseUrl: string
  /** Where files go, on the disk that is measured. */
  folder: string
  s3: S3Settings | null
  /** How many files of how many bytes. */
  files: number
  bytes: number
  concurrency: number
  /** How often; the report has the mean. */
  passes: number
}

export interface ContenderReport {
  seconds: number
  /** Largest resident set while files moved, less that before. */
  rssGrowthMb: number
  cpuSeconds: number
}
