import pino, { type Logger } from 'pino'

/**
 * JSON lines. Nothing here logs headers or bodies; the list is for the day when somebody does (S3).
 */
export function createLog(level: string, destination?: pino.DestinationStream): Logger {
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      redact: {
        paths: [
          'authorization',
          '*.authorization',
          'token',
          '*.token',
          'apiKey',
          '*.apiKey',
          'password',
          '*.password',
        ],
        censor: '[secret]',
      },
      serializers: { err: describeError },
    },
    destination ?? pino.destination(1),
  )
}

/** Drivers hang whole queries with their arguments onto errors; only what helps to find the fault is written. */
function describeError(error: unknown): unknown {
  if (!(error instanceof Error)) return String(error)
  const code = 'code' in error ? error.code : undefined
  return {
    type: error.name,
    message: error.message,
    ...(code === undefined ? {} : { code }),
    stack: error.stack,
    ...(error.cause === undefined ? {} : { cause: describeError(error.cause) }),
  }
}
