/**
 * Every code an HTTP answer can carry, with its status. One table, so that the server's answers, the client's
 * branches and the documentation cannot disagree.
 */
export const PROBLEMS = {
  INVALID_JSON: { status: 400, title: 'The body is not valid JSON' },
  INVALID_REQUEST: { status: 400, title: 'The request does not have the documented shape' },
  UNKNOWN_TASK_TYPE: { status: 400, title: 'There is no such task type' },
  INVALID_PARAMS: { status: 400, title: 'The parameters do not fit the task type' },
  IDEMPOTENCY_KEY_INVALID: { status: 400, title: 'The Idempotency-Key header cannot be used' },
  TASK_NOT_FINISHED: { status: 400, title: 'The task has not finished yet' },
  UNAUTHENTICATED: { status: 401, title: 'A token is needed' },
  TOKEN_INVALID: { status: 401, title: 'The token is not valid' },
  TOKEN_EXPIRED: { status: 401, title: 'The token has expired' },
  INSUFFICIENT_CREDITS: { status: 402, title: 'Not enough credits' },
  WEBHOOK_REFUSED: { status: 401, title: 'The webhook is not genuine' },
  FORBIDDEN: { status: 403, title: 'Not allowed' },
  NOT_FOUND: { status: 404, title: 'Not found' },
  BODY_TOO_SLOW: { status: 408, title: 'The body took too long' },
  TASK_ALREADY_ENDED: { status: 409, title: 'The task has already ended' },
  SUPERSEDED: { status: 409, title: 'A newer leader of this browser is connected' },
  TASK_NOT_RETRYABLE: { status: 409, title: 'Only a failed or cancelled task can be retried' },
  NOTHING_TO_SAVE: { status: 409, title: 'The task has no result to save' },
  NOTHING_TO_REFUND: { status: 409, title: 'Nothing was spent on the task' },
  EXTERNAL_ID_TAKEN: { status: 409, title: 'Another task has this job' },
  TASK_REMOVED: { status: 410, title: 'The task is gone' },
  BODY_TOO_LARGE: { status: 413, title: 'The body is too large' },
  UNSUPPORTED_MEDIA_TYPE: { status: 415, title: 'The body must be application/json' },
  IDEMPOTENCY_KEY_REUSED: { status: 422, title: 'The Idempotency-Key was used for another request' },
  RATE_LIMITED: { status: 429, title: 'Too many requests' },
  TOO_MANY_UNFINISHED: { status: 429, title: 'Too many tasks are unfinished' },
  INTERNAL: { status: 500, title: 'Something went wrong on our side' },
  UNAVAILABLE: { status: 503, title: 'Temporarily unavailable' },
} as const satisfies Record<string, { status: number; title: string }>

export type ProblemCode = keyof typeof PROBLEMS

/** RFC 9457 problem JSON, as `application/problem+json`. */
export interface Problem {
  type: 'about:blank'
  title: string
  status: number
  code: ProblemCode
  /** What happened here and what to do next. */
  detail: string
  /** The same id stands in the server's log lines for this request. */
  traceId: string
}
