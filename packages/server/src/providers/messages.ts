/** What users read when something fails at a vendor: what happened, and what they can do. */

export const CONTENT_REFUSED =
  'The generation service refused this for its content. Change the prompt or the input files and try again.'

export const KEY_REFUSED =
  'The generation service does not accept our access at the moment. This is on our side; please try again later.'

export const CREDIT_SPENT =
  'Our account with the generation service has run out. This is on our side; please try again later.'

/** While a task waits. What the vendor or the network said is for the operator: it may name hosts and keys. */
export const BUSY = 'The generation service is busy. The request is sent again by itself.'

export const OUT_OF_REACH =
  'The generation service cannot be reached at the moment. The request is sent again by itself.'

export function refusedText(words: string): string {
  return `The generation service did not take the request${quoted(words)}. Check the prompt and the settings, then try again.`
}

export function unavailableText(words: string): string {
  return `The generation service could not take the request${quoted(words)}. Try again in a moment.`
}

export function failedText(words: string, retryable: boolean): string {
  const advice = retryable ? 'Try again.' : 'Change the prompt or the settings, then try again.'
  return `The generation failed at the service${quoted(words)}. ${advice}`
}

function quoted(words: string): string {
  return words ? `: “${words.replace(/[.\s]+$/, '')}”` : ''
}
