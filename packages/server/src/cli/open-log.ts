import type { Logger } from 'pino'
import type { Config } from '../config.ts'
import { createLog } from '../log.ts'
import { prettyDestination } from './pretty-log.ts'

/** JSON for machines, one readable line each for people: in development, and wherever a terminal is watched. */
export function openLog(
  { logLevel, logFormat }: Pick<Config, 'logLevel' | 'logFormat'>,
  otherwise: { level: string; format: 'pretty' | 'json' },
  stdout: NodeJS.WriteStream = process.stdout,
): Logger {
  const level = logLevel ?? otherwise.level
  const format = logFormat ?? (stdout.isTTY ? 'pretty' : otherwise.format)
  return format === 'pretty' ? createLog(level, prettyDestination(stdout)) : createLog(level)
}
