/** What users read about a file of which there is no copy: what happened, and what they can do. */

/** The codes after which another try would end the same. The provider's own link is not affected by them. */
const GIVEN_UP: Record<string, string> = {
  TOO_LARGE:
    'This file is too large to be kept here. Download it from its present link before that stops working.',
  WRONG_TYPE:
    'The provider gave out something else than the kind of file it promised, so no copy is kept. Its present link may show what it is.',
  FORBIDDEN_ADDRESS:
    'The provider named an address that is not fetched from here, so no copy is kept. Its present link may still work.',
}

export function givenUpText(code: string): string {
  return (
    GIVEN_UP[code] ??
    'This file could not be copied and is at its provider only. Download it from its present link before that stops working.'
  )
}

export const EXPIRED_TEXT =
  'The provider removed this file before it could be copied. Generate it again if you still need it.'
