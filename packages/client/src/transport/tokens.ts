import { HoldfastError } from '../holdfast-error.ts'

/** The app's way to a token; `fresh`: one newer than it has. */
export type GetToken = (options: { fresh: boolean }) => string | Promise<string>

/** A token, and how many renewals there had been when it was asked for: fewer than now, and it is an old one. */
export interface Grant {
  token: string
  age: number
}

export interface TokensOptions {
  /** Whom to ask now: an app may replace it while the user stays the same. */
  tokenSource(): GetToken
  /** Gives up on an app that never answers, so that the next call can try again. */
  limit(renewal: Promise<string>): Promise<string>
  isOffline(): boolean
}

/**
 * The tokens of one session, renewed one at a time: with refresh tokens that rotate, the second of two renewals would
 * log the user out. A call that is refused meanwhile waits for it, and one that is refused later with an older token
 * takes its result. When it fails, all that wait fail, and the next call tries again.
 */
export function createTokens({ tokenSource, limit, isOffline }: TokensOptions) {
  let source: GetToken | undefined
  let age = 0
  let renewing: Promise<Grant> | undefined
  /** What the last renewal brought, and what it was made for, which is not sent again. */
  let newest: Grant | undefined
  let refused: string | undefined

  /** What the app throws becomes ours, with its reason. */
  function ask(fresh: boolean): string | Promise<string> {
    if (source !== tokenSource()) {
      // A renewal by the one before may go on: nobody looks at it any more.
      source = tokenSource()
      age++
      newest = renewing = undefined
    }
    const fail = (cause: unknown) => {
      throw toProblem(cause, isOffline())
    }
    try {
      const given = source({ fresh })
      return typeof given === 'string' ? given : Promise.resolve(given).catch(fail)
    } catch (cause) {
      return fail(cause)
    }
  }

  /** For a first try. Not a promise when the app has it at hand. */
  function current(): Grant | Promise<Grant> {
    const given = ask(false)
    const known = newest
    const since = age
    const toGrant = (token: string) => (known && token === refused ? known : { token, age: since })
    return typeof given === 'string' ? toGrant(given) : given.then(toGrant)
  }

  /** For the try after `old` was refused or has expired. Left out: nobody knows which. */
  function renew(old?: Grant): Grant | Promise<Grant> {
    if (source && source !== tokenSource()) return current()
    if (renewing) return renewing
    if (old && old.age < age) return newest ?? current()
    const renewal = limit(new Promise<string>((resolve) => resolve(ask(true)))).then(
      (token) => {
        if (renewing !== renewal) return { token, age: 0 }
        renewing = undefined
        refused = old?.token
        newest = { token, age: ++age }
        return newest
      },
      (error) => {
        if (renewing === renewal) renewing = undefined
        throw error
      },
    )
    renewing = renewal
    return renewal
  }

  return { current, renew }
}

/** What browsers, Node and React Native say when `fetch` finds no network. Other libraries pass the sentence on. */
const NO_NETWORK = /^(failed to fetch|fetch failed|load failed|terminated$|(the |a )?network|the internet)/i

function toProblem(cause: unknown, isOffline: boolean): HoldfastError {
  if (cause instanceof HoldfastError) return cause
  const why = cause instanceof Error ? cause.message : String(cause)
  return isOffline || NO_NETWORK.test(why)
    ? new HoldfastError('NETWORK', `There is no network: ${why}`, { cause })
    : new HoldfastError('UNAUTHENTICATED', `getToken() failed: ${why}`, { cause })
}
