/** Ids are opaque, but one that no column or URL can carry is as good as none. */
export function isExternalId(value: unknown): value is string {
  return typeof value === 'string' && /^[\x21-\x7e]{1,200}$/.test(value)
}
