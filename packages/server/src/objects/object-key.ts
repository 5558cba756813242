/** What S3 takes is 1,024 bytes; this leaves room for a prefix. */
const MAX_KEY_LENGTH = 768
/** Filesystems take names of 255 bytes; ours add a little to them. */
const MAX_SEGMENT_LENGTH = 200
const SEGMENT = /^[A-Za-z0-9._-]+$/
const ONLY_DOTS = /^\.+$/
const CONTENT_TYPE = /^[\w!#$&^.+-]{1,80}\/[\w!#$&^.+-]{1,80}(?: *;[ -~]{1,120})?$/

/**
 * Keys are relative paths of `[A-Za-z0-9._/-]`. Nothing in that alphabet means anything to a URL, a shell or a
 * filesystem but the slash and the dots, and segments that are empty or made of dots are refused. So there is no
 * notation in which a key could lead elsewhere.
 */
export function isObjectKey(key: string): boolean {
  return key.length <= MAX_KEY_LENGTH && key.split('/').every(isSegment)
}

export function assertObjectKey(key: string): void {
  if (isObjectKey(key)) return
  throw new Error(
    `${JSON.stringify(key.slice(0, 200))} cannot be the key of an object. A key is a relative path of letters, digits, "." "_" "-" and "/", without empty or dotted segments, of at most ${MAX_KEY_LENGTH} characters (${MAX_SEGMENT_LENGTH} between two slashes).`,
  )
}

/** A prefix is the beginning of a key, cut anywhere; empty means all. */
export function assertKeyPrefix(prefix: string): void {
  const segments = prefix.split('/')
  const last = segments.pop() ?? ''
  // A cut segment may be empty or dotted still: more characters follow.
  const cut = last === '' || (SEGMENT.test(last) && last.length <= MAX_SEGMENT_LENGTH)
  if (cut && prefix.length <= MAX_KEY_LENGTH && segments.every(isSegment)) return
  throw new Error(`${JSON.stringify(prefix.slice(0, 200))} is not the beginning of any key.`)
}

/**
 * What is stored as a content type comes back as a header. `multipart/…` is a way to send several things, and no type
 * of a file: Supabase would look for a form in it.
 */
export function assertContentType(contentType: string): void {
  if (CONTENT_TYPE.test(contentType) && !/^multipart\//i.test(contentType)) return
  throw new Error(
    `${JSON.stringify(contentType.slice(0, 200))} is not a content type such as "image/png" or "text/plain; charset=utf-8".`,
  )
}

function isSegment(segment: string): boolean {
  return segment.length <= MAX_SEGMENT_LENGTH && SEGMENT.test(segment) && !ONLY_DOTS.test(segment)
}
