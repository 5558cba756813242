import { type Context, Hono } from 'hono'
import { cors } from 'hono/cors'
import { HoldfastError } from '../errors.ts'
import type { FilesystemStore } from '../objects/filesystem-store.ts'
import type { OpenedObject } from '../objects/object-file.ts'
import { onAbort } from '../providers/on-abort.ts'
import type { AppEnv } from './app-context.ts'
import { type ByteRange, readRange } from './byte-range.ts'

/**
 * Opened by itself, a result is a document of our origin; as such it may do nothing but look like something. Browsers
 * show a video by a document that loads it once more, so that is allowed.
 */
const CONTENT_SECURITY_POLICY = [
  'sandbox',
  "default-src 'none'",
  "img-src 'self'",
  "media-src 'self'",
  "style-src 'unsafe-inline'",
].join('; ')
const SHOWN_BY_BROWSERS = /^(image|video|audio)\//

/** Serves what a filesystem store keeps, to whoever has a URL of `signUrls`. */
export function fileRoutes(store: Pick<FilesystemStore, 'verify' | 'open'>): Hono<AppEnv> {
  const routes = new Hono<AppEnv>()
  routes.use(
    '/files/*',
    // The signature is the permission: no cookie or token has a part in it, so any page may ask.
    cors({
      origin: '*',
      allowMethods: ['GET', 'HEAD'],
      allowHeaders: ['Range', 'If-Range', 'If-None-Match'],
      exposeHeaders: ['Accept-Ranges', 'Content-Length', 'Content-Range', 'ETag'],
      maxAge: 86_400,
    }),
  )

  // Hono answers HEAD by this, too, and drops the body.
  routes.get('/files/:key{.+}', async (c) => {
    c.header('Cache-Control', 'no-store')
    const key = c.req.param('key')
    const { expires = '', signature = '' } = c.req.query()
    const verdict = store.verify({ key, expires, signature })
    if (verdict.kind === 'forged') {
      throw new HoldfastError('FORBIDDEN', 'This link was not made here, or was changed. Load the task anew.')
    }
    if (verdict.kind === 'expired') {
      throw new HoldfastError('FORBIDDEN', 'This link has expired. Load the task anew to get a fresh one.')
    }
    const object = await store.open(key)
    if (!object) throw new HoldfastError('NOT_FOUND', 'This file is not there any more.')
    try {
      describe(c, key, object, Math.floor(verdict.remainingMs / 1_000))
      return await answer(c, object)
    } catch (error) {
      await object.close()
      throw error
    }
  })
  return routes
}

function describe(
  c: Context<AppEnv>,
  key: string,
  { contentType, etag }: OpenedObject,
  maxAge: number,
): void {
  const disposition = SHOWN_BY_BROWSERS.test(contentType) ? 'inline' : 'attachment'
  c.header('Cache-Control', `private, max-age=${maxAge}`)
  c.header('ETag', `"${etag}"`)
  c.header('Accept-Ranges', 'bytes')
  c.header('Content-Type', contentType)
  // No character of a key needs to be escaped in a quoted string.
  c.header('Content-Disposition', `${disposition}; filename="${key.slice(key.lastIndexOf('/') + 1)}"`)
  c.header('Content-Security-Policy', CONTENT_SECURITY_POLICY)
  c.header('Cross-Origin-Resource-Policy', 'cross-origin')
  c.header('X-Content-Type-Options', 'nosniff')
}

async function answer(c: Context<AppEnv>, object: OpenedObject): Promise<Response> {
  if (isKnown(c.req.header('If-None-Match'), object.etag)) {
    await object.close()
    return c.body(null, 304)
  }
  const range = wantedRange(c, object)
  if (range === 'unsatisfiable') {
    await object.close()
    c.header('Content-Range', `bytes */${object.bytes}`)
    return c.body(null, 416)
  }
  if (range) c.header('Content-Range', `bytes ${range.start}-${range.end - 1}/${object.bytes}`)
  const { start, end } = range ?? { start: 0, end: object.bytes }
  c.header('Content-Length', String(end - start))
  const status = range ? 206 : 200
  // Nobody would read a stream, and nobody would cancel it.
  if (c.req.method === 'HEAD' || start === end) {
    await object.close()
    return c.body(null, status)
  }
  // A caller who is gone before the first byte is not reported to the stream.
  const { signal } = c.req.raw
  if (signal.aborted) await object.close()
  else onAbort(signal, () => void object.close().catch(() => {}))
  return c.body(object.stream(start, end), status)
}

function wantedRange(c: Context<AppEnv>, { bytes, etag }: OpenedObject): ByteRange | 'unsatisfiable' | null {
  // With dates, which we do not give out, or another ETag, the caller has the beginning of something else.
  const ifRange = c.req.header('If-Range')
  if (ifRange !== undefined && ifRange.trim() !== `"${etag}"`) return null
  return readRange(c.req.header('Range'), bytes)
}

function isKnown(ifNoneMatch: string | undefined, etag: string): boolean {
  const known = ifNoneMatch?.split(',').map((tag) => tag.trim().replace(/^W\//, ''))
  return known?.some((tag) => tag === '*' || tag === `"${etag}"`) ?? false
}
