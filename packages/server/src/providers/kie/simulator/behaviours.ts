/**
 * What a word in square brackets in a prompt makes the simulator do, such as "a lighthouse [fail]". A number sets
 * how often, such as `[500:5]`. Plain words never change anything.
 */
export const BEHAVIOURS = {
  // While it works
  fast: 'done in a tenth of the time',
  slow: 'takes five times as long',
  stuck: 'generates for ever',
  many: 'four results (or the number given)',
  'unknown-state': 'reports a state that is not documented while it works',
  progress: 'reports progress whatever the model',

  // How it ends
  fail: 'fails with an internal error, which is worth another try',
  nsfw: 'fails on grounds of content, which is not',
  vanish: 'is no longer known from half-way on',
  'empty-result': 'success with resultJson ""',
  'null-result': 'success with resultJson null',
  'bad-result': 'success with resultJson cut off',
  'text-result': 'success with a resultObject instead of URLs',
  'object-result': 'success with resultJson as an object instead of a string',
  'late-result': 'success with resultJson cut off in the first 2 polls that see it',

  // Its files
  'dead-links': 'the links to its results are dead from the start; new ones work',
  'gone-files': 'its results are gone: links lead nowhere, and new ones too',
  'cut-files': 'the socket is cut in the middle of a result, 3 times or as often as given',

  // When it is created
  refuse: 'refused with 422',
  code: 'refused with the code given, such as [code:402]',
  busy: '429 to the first try, without Retry-After',
  'busy-seconds': '429 to the first try, with Retry-After: 1',
  'busy-date': '429 to the first try, with Retry-After as a date 1 s ahead',
  lost: 'accepted, then the socket is cut without a reply',
  dropped: 'the socket is cut, and nothing was accepted',
  hang: 'accepted, and the reply never comes',
  'html-create': "accepted, but a proxy's HTML page comes back as HTTP 502",
  'garbage-create': 'accepted, but the reply breaks off',

  // When it is polled, 3 times unless a number is given
  hidden: 'not visible yet: 422 recordInfo is null',
  '500': 'code 500',
  '429': 'code 429 with Retry-After: 1',
  html: "a proxy's HTML page as HTTP 502",
  garbage: 'a body that is not JSON',
  cut: 'the socket is cut',
  'hang-polls': 'the reply never comes',
} as const

export type Behaviour = keyof typeof BEHAVIOURS
/** Behaviour → the number given with it, or null. */
export type Behaviours = Partial<Record<Behaviour, number | null>>

export function readBehaviours(prompt: string): Behaviours {
  const found: Behaviours = {}
  for (const [, word = '', count] of prompt.matchAll(/\[([a-z0-9-]+)(?::(\d{1,3}))?\]/gi)) {
    const name = word.toLowerCase()
    if (isBehaviour(name)) found[name] = count === undefined ? null : Number(count)
  }
  return found
}

/** The prompt as a person would read it. */
export function withoutBehaviours(prompt: string): string {
  return prompt
    .replace(/\[([a-z0-9-]+)(?::\d{1,3})?\]/gi, (all, word: string) =>
      isBehaviour(word.toLowerCase()) ? ' ' : all,
    )
    .replace(/\s+/g, ' ')
    .trim()
}

function isBehaviour(word: string): word is Behaviour {
  return Object.hasOwn(BEHAVIOURS, word)
}
