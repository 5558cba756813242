/**
 * How a vendor is told what to run, whom to call and how to answer. Nobody's parameters may say that: a user who could
 * would choose another model at the same price, or be sent what is ours.
 */
const RESERVED = new Set(['model', 'stream', 'sync', 'syncmode', 'synctimeout', 'version'])

/** `callBackUrl`, `callback_url`, `fal_webhook`, `webhook_events_filter`, and however the next vendor spells it. */
const CALLS_BACK = /callback|webhook/

/** Whether a parameter of this name is never sent, whatever the schema of its type lets through. */
function isReservedName(name: string): boolean {
  const plain = name.toLowerCase().replace(/[^a-z0-9]/g, '')
  return RESERVED.has(plain) || CALLS_BACK.test(plain)
}

/** The parameters of a task as a vendor may be given them. Every adapter sends these and no others. */
export function vendorInput(params: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(params).filter(([name]) => !isReservedName(name)))
}
