/** Why a task failed: what `task.failure.code` can be. */
export const FAILURE_CODES = [
  /** The request may have reached the provider, but its answer never came back. Never sent twice. */
  'SUBMIT_UNKNOWN',
  /** The provider refused the request; nothing was generated. */
  'SUBMIT_REFUSED',
  /** The provider refused the prompt or its result on grounds of content. */
  'CONTENT_REFUSED',
  /** Our key with the provider is not accepted: an operator has to act. */
  'PROVIDER_AUTH',
  /** Our account with the provider is out of credit: an operator has to act. */
  'PROVIDER_QUOTA',
  /** The provider worked on it and reported a failure. */
  'PROVIDER_FAILED',
  /** The provider no longer knows the task. */
  'TASK_NOT_FOUND',
  /** The provider reported success without a result that can be read. */
  'RESULT_UNREADABLE',
  /** Not finished within the time allowed for its type. */
  'DEADLINE_EXCEEDED',
  /** No provider took it within the time allowed for waiting; nothing was generated. */
  'WAIT_EXCEEDED',
  /** Nothing could be learned about it for too long. */
  'SILENT_TOO_LONG',
] as const

export type FailureCode = (typeof FAILURE_CODES)[number]
