import type { Logger } from 'pino'
import { createKeyScrubber } from './api-key.ts'
import { tidyText } from './read-json.ts'

/** A vendor that makes up a new word for every poll must not fill our memory. */
const MOST_REMEMBERED = 100

/**
 * Tells of status words that the adapter does not know, once each. Such a task counts as running: vendors add
 * states, and taking a new one for a failure would throw away paid work.
 */
export function createUnknownStatusLog(
  provider: string,
  log: Pick<Logger, 'warn'> | undefined,
  apiKey: string,
): (status: unknown) => void {
  const told = new Set<string>()
  const scrub = createKeyScrubber(apiKey)
  return (status) => {
    const word = scrub(tidyText(status))
    if (told.has(word) || told.size >= MOST_REMEMBERED) return
    told.add(word)
    log?.warn(
      { provider, status: word },
      'the provider reports a status that we do not know; taken as running',
    )
  }
}
