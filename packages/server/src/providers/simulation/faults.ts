import type { Behaviours } from './behaviours.ts'
import { type Answer, PROXY_PAGE, type Reply } from './reply.ts'

/** An error as the vendor would tell it. */
export type TellError = (status: number, detail: string) => Reply

/** A date has whole seconds only; rounded up, so that it is never in the past. */
function aSecondAhead(now: number): string {
  return new Date(Math.ceil(now / 1000 + 1) * 1000).toUTCString()
}

function withRetryAfter(reply: Reply, value: string | null): Reply {
  return value === null ? reply : { ...reply, headers: { ...reply.headers, 'retry-after': value } }
}

/** What goes wrong with a create before there is a task. */
export function createCreateFaults(now: () => number) {
  const busyLeft = new Map<string, number>()
  return (behaviours: Behaviours, request: string, tellError: TellError): Answer | null => {
    if ('dropped' in behaviours) return 'cut'
    if ('refuse' in behaviours) return tellError(422, 'The input parameters are not supported by this model')
    if (behaviours.code != null) return tellError(behaviours.code, 'The request was refused')
    const busy = ['busy', 'busy-seconds', 'busy-date'].find((name) => name in behaviours)
    if (!busy) return null
    const left = busyLeft.get(request) ?? behaviours[busy] ?? 1
    busyLeft.set(request, left - 1)
    if (left <= 0) {
      busyLeft.delete(request)
      return null
    }
    const value = busy === 'busy' ? null : busy === 'busy-date' ? aSecondAhead(now()) : '1'
    return withRetryAfter(tellError(429, 'Too many requests'), value)
  }
}

/** What becomes of the reply to a create that was accepted. */
export function replyFault(
  behaviours: Behaviours,
  reply: () => Answer,
  breakOff: (answer: Answer) => Answer,
): Answer {
  if ('lost' in behaviours) return 'cut'
  if ('hang' in behaviours) return 'hang'
  if ('html-create' in behaviours) return PROXY_PAGE
  if ('garbage-create' in behaviours) return breakOff(reply())
  return reply()
}

/** What goes wrong with the nth poll of a task; null if nothing does. */
export function pollFault(
  { behaviours, polls }: { behaviours: Behaviours; polls: number },
  now: number,
  tellError: TellError,
): Answer | 'hidden' | null {
  const isNow = (name: string) => name in behaviours && polls <= (behaviours[name] ?? 3)
  if (isNow('cut')) return 'cut'
  if (isNow('hang-polls')) return 'hang'
  if (isNow('hidden')) return 'hidden'
  if (isNow('500')) return tellError(500, 'Server exception')
  const tooMany = () => tellError(429, 'Too many requests')
  if (isNow('429')) return withRetryAfter(tooMany(), '1')
  if (isNow('429-date')) return withRetryAfter(tooMany(), aSecondAhead(now))
  if (isNow('429-bare')) return tooMany()
  if (isNow('html')) return PROXY_PAGE
  if (isNow('garbage')) return { status: 200, text: '{"status":"succ' }
  return null
}
