/** What users read when something fails at a vendor: what happened, and what they can do. */

export const CONTENT_REFUSED =
  'The generation service refused this for its content. Change the prompt or the input files and try again.'

export const KEY_REFUSED =
  'The generation service does not accept our access at the moment. This is on our side; please try again later.'

export const CREDIT_SPENT =
  'Our account with the generation service has run out. This is on our side; please try again later.'

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
