import pino, { type Logger } from 'pino'
import { isStoreAway } from './objects/object-store-error.ts'

/**
 * JSON lines. Nothing here logs headers or bodies; the list is for the day when somebody does.
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
    // Of an outage the stack leads into a driver, and nobody is at fault there.
    ...(isStoreAway(error) ? {} : { stack: error.stack }),
    ...(error.cause === undefined ? {} : { cause: describeError(error.cause) }),
  }
}
