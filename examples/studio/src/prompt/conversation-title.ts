const LONGEST = 60

/** A conversation is named after its first prompt, cut between words. */
export function conversationTitle(prompt: string): string {
  const line = prompt.trim().replace(/\s+/g, ' ')
  if (line.length <= LONGEST) return line
  const cut = line.slice(0, LONGEST)
  const lastSpace = cut.lastIndexOf(' ')
  return `${cut.slice(0, lastSpace > LONGEST / 2 ? lastSpace : LONGEST)}…`
}
