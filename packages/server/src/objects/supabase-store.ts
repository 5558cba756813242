import { AsyncLocalStorage } from 'node:async_hooks'
import { Readable } from 'node:stream'
import { createClient } from '@supabase/supabase-js'
import { checkedBody } from './checked-body.ts'
import { assertContentType, assertKeyPrefix, assertObjectKey } from './object-key.ts'
import type { ObjectStore } from './object-store.ts'
import { steadyWindowSeconds } from './signed-path.ts'
import { createSignedUrlCache } from './signed-url-cache.ts'
import { isNoSuchKey, supabaseFailure } from './supabase-errors.ts'

export interface SupabaseStoreOptions {
  /** Of the project, such as `https://PROJECT.supabase.co`. */
  url: string
  /** The service role's or a secret key, which passes all policies. It stays on the server. */
  serviceKey: string
  /** A private bucket. */
  bucket: string
  /** @default the global one */
  fetch?: typeof fetch
  /** @default Date.now */
  now?: () => number
}

export interface SupabaseStore extends ObjectStore {
  readonly name: 'supabase'
}

/** The service takes, and gives, no more at once. */
const BATCH = 1_000
/** For all but a put, which takes as long as its body. */
const CALL_LIMIT_MS = 30_000

/** Objects in a bucket of Supabase Storage. */
export function createSupabaseStore(options: SupabaseStoreOptions): SupabaseStore {
  const { url, serviceKey, bucket, now = Date.now } = options
  // It would be quoted in the error about a header that cannot be.
  if (!/^[\x21-\x7e]+$/.test(serviceKey)) {
    throw new Error('The service key of Supabase has characters in it that no key has. Copy it once more.')
  }
  const send = options.fetch ?? fetch
  // supabase-js has no way to hand a signal to most of its calls, but it calls our fetch within the same context.
  const ending = new AsyncLocalStorage<AbortSignal | undefined>()
  const client = createClient(url, serviceKey, {
    auth: { persistSession: false, autoRefreshToken: false, detectSessionInUrl: false },
    global: {
      // A redirect would need the body a second time, so for its sake Node's fetch keeps all of a body in memory, unless
      // there are to be none. Nor should our key go where somebody else points.
      fetch: (input, init) => send(input, { ...init, redirect: 'error', signal: ending.getStore() ?? null }),
    },
  })
  const objects = client.storage.from(bucket)
  const signedUrls = createSignedUrlCache(now)

  /** Calls the service until the signal says so, and makes an exception of its errors. */
  async function call<T>(
    what: string,
    signal: AbortSignal | undefined,
    ask: () => Promise<{ data: T; error: null } | { data: null; error: Error }>,
  ): Promise<NonNullable<T>> {
    const limit = AbortSignal.timeout(CALL_LIMIT_MS)
    const { data, error } = await ending.run(signal ? AbortSignal.any([signal, limit]) : limit, ask)
    if (!error && data) return data
    signal?.throwIfAborted()
    throw supabaseFailure(
      `Could not ${what} the bucket ${bucket} of Supabase`,
      error ?? new Error('no answer'),
      serviceKey,
    )
  }

  async function signAnew(keys: string[], expiresInMs: number): Promise<Map<string, string>> {
    const seconds = Math.ceil(expiresInMs / 1_000) + steadyWindowSeconds(expiresInMs)
    const found = new Map<string, string>()
    for (let at = 0; at < keys.length; at += BATCH) {
      const batch = keys.slice(at, at + BATCH)
      const signed = await call('sign URLs for', undefined, () => objects.createSignedUrls(batch, seconds))
      for (const { path, signedUrl } of signed) if (path && signedUrl) found.set(path, signedUrl)
    }
    return found
  }

  return {
    name: 'supabase',

    async put(key, body, { contentType, bytes, signal }) {
      assertObjectKey(key)
      assertContentType(contentType)
      signal?.throwIfAborted()
      const source = checkedBody(body, { bytes, signal })
      const stream = Readable.from(source, { highWaterMark: 1 })
      try {
        const { error } = await ending.run(signal, () =>
          objects.upload(key, stream, {
            upsert: true,
            contentType,
            duplex: 'half',
            ...(bytes === undefined ? {} : { headers: { 'content-length': String(bytes) } }),
          }),
        )
        if (!error) return
        source.throwFailure()
        signal?.throwIfAborted()
        throw supabaseFailure(`Could not store ${key} in the bucket ${bucket} of Supabase`, error, serviceKey)
      } finally {
        stream.destroy()
      }
    },

    async head(key, signal) {
      assertObjectKey(key)
      try {
        const info = await call(`look for ${key} in`, signal, () => objects.info(key))
        return { bytes: info.size ?? 0, contentType: info.contentType ?? 'application/octet-stream' }
      } catch (error) {
        if (isNoSuchKey(error)) return null
        throw error
      }
    },

    async signUrls(keys, { expiresInMs }) {
      keys.forEach(assertObjectKey)
      const missing = keys.filter((key) => !signedUrls.get(key, expiresInMs))
      const signed = await signAnew([...new Set(missing)], expiresInMs)
      const reuseMs = steadyWindowSeconds(expiresInMs) * 1_000
      for (const [key, signedUrl] of signed) signedUrls.set(key, signedUrl, expiresInMs, reuseMs)
      return keys.map(
        // Supabase does not sign for what is not there. Elsewhere such a URL leads nowhere, and so does this one.
        (key) =>
          signedUrls.get(key, expiresInMs) ?? `${storageUrl(url)}/object/sign/${bucket}/${key}?token=none`,
      )
    },

    async delete(keys, signal) {
      keys.forEach(assertObjectKey)
      for (let at = 0; at < keys.length; at += BATCH) {
        const batch = keys.slice(at, at + BATCH)
        await call('delete from', signal, () => objects.remove(batch))
        for (const key of batch) signedUrls.delete(key)
      }
    },

    async *list(prefix, signal) {
      assertKeyPrefix(prefix)
      let cursor: string | undefined
      do {
        const page = { prefix, limit: BATCH, ...(cursor ? { cursor } : {}) }
        const found = await call('list', signal, () => objects.listV2(page))
        for (const { key, name } of found.objects) yield key ?? name
        cursor = found.hasNext ? found.nextCursor : undefined
      } while (cursor)
    },

    async close() {},
  }
}

function storageUrl(url: string): string {
  return `${url.replace(/\/+$/, '')}/storage/v1`
}
