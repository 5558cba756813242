/** 128 random bits. Not `crypto.randomUUID`, which is missing on pages served by plain http. */
export function randomId(): string {
  return Array.from(crypto.getRandomValues(new Uint32Array(4)), (part) => part.toString(36)).join('')
}
