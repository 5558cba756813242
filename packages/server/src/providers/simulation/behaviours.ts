/**
 * What a word in square brackets in a prompt makes every simulator do, such as "a lighthouse [fail]". A number sets
 * how often or how much, such as `[500:5]`. Plain words never change anything.
 */
export const COMMON_BEHAVIOURS = {
  // While it works
  fast: 'done in a tenth of the time',
  slow: 'takes five times as long',
  stuck: 'generates for ever',
  many: 'four results (or the number given)',
  'unknown-state': 'reports a state that is not documented while it works',

  // How it ends
  fail: 'fails with an internal error, which is worth another try',
  nsfw: 'fails on grounds of content, which is not',
  vanish: 'is no longer known from half-way on',

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
  hidden: 'not visible yet: answered as an unknown id',
  '500': 'code 500',
  '429': 'code 429 with Retry-After: 1',
  '429-date': 'code 429 with Retry-After as a date 1 s ahead',
  '429-bare': 'code 429 without Retry-After',
  html: "a proxy's HTML page as HTTP 502",
  garbage: 'a body that is not JSON',
  cut: 'the socket is cut',
  'hang-polls': 'the reply never comes',

  // When the result is fetched, always unless a number is given
  'media-403': 'the link has expired',
  'media-404': 'there is no such file',
  'media-500': 'the file server is out of order',
  'media-cut': 'the connection breaks after half the file',
  'media-type': 'the file is called text/html',
  'media-html': "a proxy's HTML page as HTTP 200",
  'media-slow': 'the file comes a few bytes at a time',
  'media-redirect': 'a redirect to a private address',

  // When it calls back
  'hook-none': 'no webhook is sent',
  'hook-twice': 'every webhook is sent twice',
  'hook-late': 'webhooks come 5 s late (or the seconds given)',
  'hook-early': 'a webhook comes before the create is answered',
  'hook-forged': 'webhooks are signed with another key',
  'hook-unsigned': 'webhooks carry no signature',
  'hook-stale': 'webhooks are signed for ten minutes ago',
  'hook-future': 'webhooks are signed for ten minutes ahead',
  'hook-altered': 'the body is altered after signing',
} as const

/** Behaviour → the number given with it, or null. */
export type Behaviours<Word extends string = string> = Partial<Record<Word, number | null>>

export interface Vocabulary<Word extends string = string> {
  read(prompt: string): Behaviours<Word>
  /** The prompt as a person would read it. */
  strip(prompt: string): string
}

const BRACKETED = /\[([a-z0-9-]+)(?::(\d{1,4}))?\]/gi

export function createVocabulary<Word extends string>(
  words: Readonly<Record<Word, string>>,
): Vocabulary<Word> {
  const isWord = (word: string): word is Word => Object.hasOwn(words, word)
  return {
    read(prompt) {
      const found: Behaviours<Word> = {}
      for (const [, word = '', count] of prompt.matchAll(BRACKETED)) {
        const name = word.toLowerCase()
        if (isWord(name)) found[name] = count === undefined ? null : Number(count)
      }
      return found
    },
    strip: (prompt) =>
      prompt
        .replace(BRACKETED, (all, word: string) => (isWord(word.toLowerCase()) ? ' ' : all))
        .replace(/\s+/g, ' ')
        .trim(),
  }
}
