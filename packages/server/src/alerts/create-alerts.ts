import type { Logger } from 'pino'
import type { Alert, AlertNotice } from './alert.ts'
import { type AlertWebhook, postAlert } from './post-alert.ts'

/** The same trouble is told again after this long: an alert that was missed must not be the last. */
const REPEAT_AFTER_MS = 60 * 60_000
/** More kinds of trouble than this at once are forgotten, oldest first, and may be told again early. */
const MOST_REMEMBERED = 10_000

export interface Alerts {
  alert: Alert
  /** Waits for what is still being sent. */
  close(): Promise<void>
}

export interface AlertsOptions {
  log: Logger
  /** Where alerts are posted. @default nowhere: they are only logged */
  webhook?: AlertWebhook
  fetch?: typeof fetch
  /** Milliseconds that never go back. */
  now?: () => number
}

/** Alerts as log lines of level error with `"alert":"CRITICAL"`, and as posts to a chat (O4, E5). */
export function createAlerts(options: AlertsOptions): Alerts {
  const { log, webhook, fetch: send = fetch, now = () => performance.now() } = options
  const toldAt = new Map<string, number>()
  const sending = new Set<Promise<void>>()
  const closing = new AbortController()

  /** Whether it was told lately. Remembers it as told now, if not. */
  function isRepeated({ name, key }: AlertNotice): boolean {
    const id = JSON.stringify([name, key])
    const before = toldAt.get(id)
    if (before !== undefined && now() - before < REPEAT_AFTER_MS) return true
    // Deleted first, so that the map stays in the order of telling.
    toldAt.delete(id)
    toldAt.set(id, now())
    const [oldest] = toldAt.keys()
    if (toldAt.size > MOST_REMEMBERED && oldest !== undefined) toldAt.delete(oldest)
    return false
  }

  function alert(notice: AlertNotice): void {
    if (isRepeated(notice)) return
    const { name, key, level, message, details } = notice
    log.error({ ...details, alert: level.toUpperCase(), name, key }, message)
    if (!webhook) return
    const posted = postAlert(notice, { webhook, fetch: send, until: closing.signal })
      .catch((error: unknown) => log.error({ err: error, name, key }, 'an alert could not be posted'))
      .finally(() => sending.delete(posted))
    sending.add(posted)
  }

  return {
    alert,
    async close() {
      closing.abort()
      await Promise.all(sending)
    },
  }
}
