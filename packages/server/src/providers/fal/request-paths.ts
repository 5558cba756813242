import type { ApiReply, ApiRequest } from '../http-api/api-request.ts'
import type { ApiAnswer } from '../http-api/open-api.ts'
import { createRecentMap } from '../http-api/recent-map.ts'
import { appOf, type FalRequest } from './external-id.ts'
import { readFalError } from './read-fal-error.ts'

/** What is known of where a model's requests are. */
interface PathForm {
  /** Such as `/fal-ai/flux`. */
  prefix?: string
  /** What the result's path ends with beyond the request: nothing, or `/response`. */
  ending?: string
}

const MOST_MODELS = 1_000
const RESPONSE_PATH =
  /^(?<prefix>(?:\/[A-Za-z0-9][A-Za-z0-9._-]*){2,})\/requests\/[^/]+(?<ending>\/response)?$/

/**
 * Where to ask about a request. The reply to its create says so, and what it says is used. After a restart the forms
 * that are documented are tried in turn, and the one under which a request is known is kept.
 */
export function createRequestPaths() {
  const known = createRecentMap<PathForm>(MOST_MODELS)

  const formsOf = (model: string, what: 'status' | 'cancel' | 'result'): Required<PathForm>[] => {
    const form = known.get(model) ?? {}
    const prefixes = form.prefix ? [form.prefix] : [...new Set([`/${appOf(model)}`, `/${model}`])]
    const endings = form.ending === undefined ? ['', '/response'] : [form.ending]
    return prefixes.flatMap((prefix) =>
      (what === 'result' ? endings : [`/${what}`]).map((ending) => ({ prefix, ending })),
    )
  }

  return {
    /** Learns from the URL of the result that came with the reply to a create. */
    learn(model: string, responseUrl: unknown) {
      const path = URL.parse(String(responseUrl))?.pathname ?? ''
      const { prefix, ending = '' } = RESPONSE_PATH.exec(path)?.groups ?? {}
      if (prefix) known.set(model, { prefix, ending })
    },
    /** Asks at each place until one knows the request. */
    async ask(
      { model, requestId }: FalRequest,
      what: 'status' | 'cancel' | 'result',
      send: (call: ApiRequest) => Promise<ApiAnswer>,
    ): Promise<ApiAnswer> {
      let answer: ApiAnswer = { kind: 'not-sent', reason: 'there is nowhere to ask' }
      for (const { prefix, ending } of formsOf(model, what)) {
        answer = await send({ ...CALLS[what], path: `${prefix}/requests/${requestId}${ending}` })
        if (answer.kind !== 'reply') return answer
        if (isElsewhere(answer.reply)) continue
        known.set(model, { ...known.get(model), prefix, ...(what === 'result' ? { ending } : {}) })
        return answer
      }
      return answer
    },
  }
}

const CALLS: Record<'status' | 'cancel' | 'result', Omit<ApiRequest, 'path'>> = {
  status: { query: { logs: 1 } },
  cancel: { method: 'PUT' },
  result: {},
}

/** Said by fal itself, so that a proxy's page teaches us nothing. */
function isElsewhere(reply: ApiReply): boolean {
  return (reply.status === 404 || reply.status === 405) && readFalError(reply) !== null
}
