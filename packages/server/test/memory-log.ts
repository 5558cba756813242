import type { Logger } from 'pino'
import { createLog } from '../src/log.ts'

/** A real log, at the most talkative level, that ends up in memory. */
export function createMemoryLog(): { log: Logger; lines: string[] } {
  const lines: string[] = []
  return { log: createLog('trace', { write: (line) => void lines.push(line) }), lines }
}
