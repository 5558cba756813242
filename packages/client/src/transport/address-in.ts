import { HoldfastError } from '../holdfast-error.ts'

/** Whether it has a scheme. */
export const isWholeUrl = (text: string): boolean => /^[a-z][a-z\d+.-]*:/i.test(text)

/**
 * The address of a path below `base`, or of a whole URL that lies below it; anything else throws. The URL parser decides,
 * never the text: `//host`, `/\host`, `https:host`, `@host` and `..` all mean something else than they look like.
 * `base` is the app's own: '' is the page's origin. Its path counts, since hosts are shared by path as well.
 */
export function addressIn(base: string, path: string): string {
  try {
    // Not the page's address: a `<base href>` or the route of the moment must not move our calls.
    const { href } = new URL(base, isWholeUrl(base) ? undefined : globalThis.origin)
    const root = href.replace(/\/*([?#].*)?$/, '')
    const address = new URL(isWholeUrl(path) ? path : root + path).href
    // One slash, a query, or nothing follows: two slashes are how one names another host.
    if (address.startsWith(root) && /^(\/(?!\/)|[?#]|$)/.test(address.slice(root.length))) return address
  } catch {
    // No address at all.
  }
  const where = base || 'the page’s origin'
  throw new HoldfastError('INVALID_REQUEST', `"${path}" is not below ${where}. Nothing was sent.`)
}
