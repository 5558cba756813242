/**
 * Most vendors have no code for "not allowed": models say it in words, often those of an upstream vendor. Kept to phrases
 * that say so plainly, since a wrong hit tells users to change a prompt that was fine.
 */
const PHRASES =
  /content polic|policy violation|violat\w* (?:our|the|\w+'s)? ?(?:content|usage|community|safety)|moderat(?:ion|ed)|sensitive|nsfw|inappropriate|prohibited|safety (?:system|filter|check|policy)|flagged|explicit content|nudity|copyright/i

export function isContentRefusal(...texts: string[]): boolean {
  return texts.some((text) => PHRASES.test(text))
}
