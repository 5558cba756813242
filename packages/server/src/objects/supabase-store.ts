import { AsyncLocalStorage } from 'node:async_hooks'
import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { createClient } from '@supabase/supabase-js'
import { checkedBody } from './checked-body.ts'
import { assertContentType, assertKeyPrefix, assertObjectKey } from './object-key.ts'
import type { ObjectStore } from './object-store.ts'
import { ObjectStoreError } from './object-store-error.ts'
import { steadyWindowSeconds } from './signed-path.ts'
import { createSignedUrlCache } from './signed-url-cache.ts'
import {
  isNoSuchKey,
  isRefusedFile,
  isServiceFailure,
  placeProblem,
  supabaseFailure,
} from './supabase-errors.ts'

export interface SupabaseStoreOptions {
  /** Of the project, such as `https://PROJECT.supabase.co`. */
  url: string
  /** The service role's or a secret key, which passes all policies. It stays on the server. */
  serviceKey: string
  /** A private bucket: a public one is refused. */
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
/** While a file is overwritten, the service may answer with a 500. */
const LOOK_AGAIN_AFTER_MS = [100, 400]

type Answer<T> = { data: T; error: null } | { data: null; error: Error }

/**
 * Objects in a bucket of Supabase Storage.
 *
 * The service answers deletes, lists and signing from what the key may see, and never looks at the bucket: with the
 * anon key, or without a bucket, all of them succeed and find nothing. So the bucket is asked for before the first
 * use, and again before an answer of "nothing" is believed.
 */
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

  function ask<T>(signal: AbortSignal | undefined, request: () => Promise<Answer<T>>): Promise<Answer<T>> {
    const limit = AbortSignal.timeout(CALL_LIMIT_MS)
    return ending.run(signal ? AbortSignal.any([signal, limit]) : limit, request)
  }

  /** Null until the bucket was seen. The size limit is what an operator has set for it. */
  let seen: { maxBytes: number | undefined } | null = null

  /** Asks for the bucket, and says in plain words what is wrong with it or with the key. */
  async function look(
    what: string,
    signal: AbortSignal | undefined,
  ): Promise<{ maxBytes: number | undefined }> {
    seen = null
    const { data, error } = await ask(signal, () => client.storage.getBucket(bucket))
    const unusable = (sentence: string) =>
      new ObjectStoreError(
        'STORE_UNUSABLE',
        `Could not ${what} the bucket ${bucket} of Supabase: ${sentence}`.replaceAll(serviceKey, '[secret]'),
      )
    if (error || !data) {
      signal?.throwIfAborted()
      const failure = error ?? new Error('no answer')
      const problem = placeProblem(failure)
      if (problem === 'bucket') {
        throw unusable(
          `There is no bucket "${bucket}" that this key can see at ${url}. SUPABASE_BUCKET must name a bucket of that project, and SUPABASE_SERVICE_KEY must be its service (secret) key: the anon key sees no bucket.`,
        )
      }
      if (problem === 'key') {
        throw unusable(
          `SUPABASE_SERVICE_KEY was refused. It must be the service (secret) key of the project at ${url}. It said: ${failure.message}`,
        )
      }
      throw supabaseFailure(`Could not ${what} the bucket ${bucket} of Supabase`, failure, serviceKey)
    }
    if (data.public) {
      throw unusable(
        `The bucket "${bucket}" is public: anybody could read everybody's results. Make it private; signed URLs are enough for browsers.`,
      )
    }
    seen = { maxBytes: data.file_size_limit ?? undefined }
    return seen
  }

  /** Calls the service until the signal says so, and makes an exception of its errors. */
  async function call<T>(
    what: string,
    signal: AbortSignal | undefined,
    request: () => Promise<Answer<T>>,
  ): Promise<NonNullable<T>> {
    if (!seen) await look(what, signal)
    const { data, error } = await ask(signal, request)
    if (!error && data) return data
    signal?.throwIfAborted()
    return explain(what, error ?? new Error('no answer'), signal)
  }

  /** An answer about the bucket or the key may mean the other of them: the bucket itself tells which. */
  async function explain(what: string, error: Error, signal: AbortSignal | undefined): Promise<never> {
    if (placeProblem(error)) await look(what, signal)
    throw supabaseFailure(`Could not ${what} the bucket ${bucket} of Supabase`, error, serviceKey)
  }

  async function signAnew(keys: string[], expiresInMs: number): Promise<Map<string, string>> {
    const seconds = Math.ceil(expiresInMs / 1_000) + steadyWindowSeconds(expiresInMs)
    const found = new Map<string, string>()
    for (let at = 0; at < keys.length; at += BATCH) {
      const batch = keys.slice(at, at + BATCH)
      const what = 'sign URLs for'
      const signed = await call(what, undefined, () => objects.createSignedUrls(batch, seconds))
      if (!signed.some(({ signedUrl }) => signedUrl)) await look(what, undefined)
      for (const { path, signedUrl } of signed) if (path && signedUrl) found.set(path, signedUrl)
    }
    return found
  }

  return {
    name: 'supabase',

    async check(signal) {
      await look('use', signal)
    },

    async put(key, body, { contentType, bytes, signal }) {
      assertObjectKey(key)
      assertContentType(contentType)
      signal?.throwIfAborted()
      const what = `store ${key} in`
      // The service counts nothing that comes without a length, and would store it.
      const count = (received: number) => {
        const most = seen?.maxBytes
        if (most === undefined || received <= most) return
        // An operator may raise the limit: the next put asks for it.
        seen = null
        throw refused(what, `it has more than the ${most} bytes that the bucket takes`)
      }
      const source = checkedBody(body, { bytes, signal, ...(bytes === undefined ? { count } : {}) })
      const stream = Readable.from(source, { highWaterMark: 1 })
      try {
        if (!seen) await look(what, signal)
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
        if (isRefusedFile(error)) {
          const most = seen?.maxBytes
          const limit = most === undefined ? '' : `; it takes files of up to ${most} bytes`
          throw refused(what, `${error.message} (${contentType}, ${bytes ?? 'unknown'} bytes${limit})`)
        }
        await explain(what, error, signal)
      } finally {
        stream.destroy()
      }
    },

    async head(key, signal) {
      assertObjectKey(key)
      const what = `look for ${key} in`
      for (let attempt = 0; ; attempt++) {
        try {
          const info = await call(what, signal, () => objects.info(key))
          return { bytes: info.size ?? 0, contentType: info.contentType ?? 'application/octet-stream' }
        } catch (error) {
          const pauseMs = LOOK_AGAIN_AFTER_MS[attempt]
          if (isServiceFailure(error) && pauseMs !== undefined) {
            await sleep(pauseMs, undefined, signal ? { signal } : {}).catch(() => signal?.throwIfAborted())
            continue
          }
          if (!isNoSuchKey(error)) throw error
          await look(what, signal)
          return null
        }
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
        const removed = await call('delete from', signal, () => objects.remove(batch))
        if (removed.length === 0) await look('delete from', signal)
        for (const key of batch) signedUrls.delete(key)
      }
    },

    async *list(prefix, signal) {
      assertKeyPrefix(prefix)
      let cursor: string | undefined
      do {
        const page = { prefix, limit: BATCH, ...(cursor ? { cursor } : {}) }
        const found = await call('list', signal, () => objects.listV2(page))
        if (found.objects.length === 0) await look('list', signal)
        for (const { key, name } of found.objects) yield key ?? name
        cursor = found.hasNext ? found.nextCursor : undefined
      } while (cursor)
    },

    async close() {},
  }

  function refused(what: string, why: string): ObjectStoreError {
    return new ObjectStoreError('STORE_REFUSED', `Could not ${what} the bucket ${bucket} of Supabase: ${why}`)
  }
}

function storageUrl(url: string): string {
  return `${url.replace(/\/+$/, '')}/storage/v1`
}
