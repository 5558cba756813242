/** No vendor's key is shorter. What is taken out of messages must not be a word that they are made of. */
const SHORTEST = 8

/**
 * Throws for a key with which no call could work, without quoting it. At an address on this machine a short one will do:
 * that is a simulator, to which any key is as good, and it is no secret.
 */
export function checkApiKey(name: string, apiKey: string, base: URL): void {
  // Checked here because the HTTP layer would refuse every single call instead, and must not say why.
  if (!/^[\x21-\x7e]+$/.test(apiKey)) {
    throw new Error(
      `The API key for ${name} is empty or has characters that no header can carry. Copy it anew.`,
    )
  }
  if (apiKey.length < SHORTEST && !isOnThisMachine(base)) {
    throw new Error(
      `The API key for ${name} has fewer than ${SHORTEST} characters, so it is not whole. Copy it anew.`,
    )
  }
}

/**
 * Takes the key out of words that are shown or logged: vendors like to echo the key they refuse. A beginning of it goes
 * too, since words are cut short. Never for what a vendor calls things: ids and URLs are used as they came.
 */
export function createKeyScrubber(apiKey: string | null): (words: string) => string {
  if (apiKey === null || apiKey.length < SHORTEST) return (words) => words
  const beginning = apiKey.slice(0, SHORTEST)
  return (words) => {
    let clean = ''
    let from = 0
    for (let at = words.indexOf(beginning); at >= 0; at = words.indexOf(beginning, from)) {
      clean += `${words.slice(from, at)}[key]`
      from = at + SHORTEST
      while (from < words.length && words[from] === apiKey[from - at]) from++
    }
    return clean + words.slice(from)
  }
}

/** The outcome with its words scrubbed, and everything else as it is. It has a message or a reason, never both. */
export function scrubOutcome<Outcome extends object>(
  outcome: Outcome,
  scrub: (words: string) => string,
): Outcome {
  if ('message' in outcome && typeof outcome.message === 'string') {
    return { ...outcome, message: scrub(outcome.message) }
  }
  if ('reason' in outcome && typeof outcome.reason === 'string') {
    return { ...outcome, reason: scrub(outcome.reason) }
  }
  return outcome
}

function isOnThisMachine({ hostname }: URL): boolean {
  return /^(?:(?:.+\.)?localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname)
}
