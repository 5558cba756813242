import { setTimeout as delay } from 'node:timers/promises'
import {
  DeleteObjectsCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  paginateListObjectsV2,
} from '@aws-sdk/client-s3'
import { getSignedUrl } from '@aws-sdk/s3-request-presigner'
import type { Logger } from 'pino'
import { checkedBody } from './checked-body.ts'
import { assertContentType, assertKeyPrefix, assertObjectKey } from './object-key.ts'
import type { ObjectStore } from './object-store.ts'
import { ObjectStoreError } from './object-store-error.ts'
import { openS3Client, type S3Connection } from './s3-client.ts'
import { isNotFound, isUnusable, s3Code, s3Failure } from './s3-errors.ts'
import { createUnfinishedUploads } from './s3-unfinished-uploads.ts'
import { uploadToS3 } from './s3-upload.ts'
import { steadyWindowSeconds } from './signed-path.ts'

export interface S3StoreOptions extends S3Connection {
  bucket: string
  /** What all keys in the bucket begin with, such as `holdfast/`. @default none: the bucket is ours alone */
  prefix?: string
  /** Where browsers reach the bucket, if elsewhere than the server does. */
  publicEndpoint?: string
  /**
   * After a large put, uploads of the same key that began before this are given up: nobody works on them any more.
   * @default 5 minutes
   */
  staleUploadMs?: number
  log?: Logger
  /** For the dates of signatures. @default Date.now */
  now?: () => number
}

export interface S3Store extends ObjectStore {
  readonly name: 's3'
  /** Gives up unfinished uploads that began so long ago, and says how many. It happens by itself, see `SWEEP_MS`. */
  abandonUploads(olderThanMs: number): Promise<number>
}

/** S3 deletes no more at once. */
const DELETE_BATCH = 1_000
const MAX_SIGNED_SECONDS = 7 * 24 * 60 * 60
const CLOSE_WITHIN_MS = 5_000
const SWEEP_MS = 60 * 60_000
/** Of uploads that died with their process. A day, since others may use the bucket as well. */
const ABANDONED_AFTER_MS = 24 * 60 * 60_000

/** Objects in a bucket of Amazon S3, Cloudflare R2, MinIO, Aliyun OSS, Ceph and whoever else speaks S3. */
export function createS3Store(options: S3StoreOptions): S3Store {
  const { bucket, log, now = Date.now, staleUploadMs = 5 * 60_000 } = options
  const prefix = options.prefix ? `${options.prefix.replace(/\/+$/, '')}/` : ''
  assertKeyPrefix(prefix)
  const client = openS3Client(options)
  const { publicEndpoint } = options
  const signer = publicEndpoint ? openS3Client({ ...options, endpoint: publicEndpoint }) : client
  const closing = new AbortController()
  const unfinished = createUnfinishedUploads(client, bucket, closing.signal)
  const nameOf = (key: string) => {
    assertObjectKey(key)
    return prefix + key
  }

  const underWay = new Set<Promise<unknown>>()
  function inBackground(work: Promise<unknown>): void {
    const tracked = work.finally(() => underWay.delete(tracked))
    underWay.add(tracked)
  }

  async function sweep(): Promise<void> {
    try {
      await unfinished.abandonRemembered()
      const abandoned = await unfinished.abandonOld(prefix, ABANDONED_AFTER_MS)
      if (abandoned > 0) log?.info({ abandoned }, 'gave up unfinished uploads of killed processes')
    } catch (error) {
      if (closing.signal.aborted) return
      const err = s3Failure('ListMultipartUploads', error)
      const hint = 'a lifecycle rule of the bucket can remove them'
      log?.warn({ err }, `could not look for unfinished uploads; ${hint}`)
    }
  }
  inBackground(sweep())
  const timer = setInterval(() => inBackground(sweep()), SWEEP_MS).unref()

  /** Now that the store answers: what of earlier puts is still lying about. What fails here is found by the sweep. */
  async function tidyUp(name: string, inParts: boolean): Promise<void> {
    await unfinished.abandonRemembered()
    if (inParts) await unfinished.abandonOld(name, staleUploadMs, (key) => key === name).catch(() => {})
  }

  /** To look for an object says "not found" for a missing bucket as well. To list says which, and why. */
  async function check(signal?: AbortSignal): Promise<void> {
    const command = new ListObjectsV2Command({ Bucket: bucket, Prefix: prefix, MaxKeys: 1 })
    try {
      await client.send(command, ending(signal))
    } catch (error) {
      signal?.throwIfAborted()
      // A key may be allowed to store and to read, and not to list.
      if (s3Code(error) === 'AccessDenied') return
      const failure = s3Failure(`Could not use the bucket ${bucket}`, error)
      if (!isUnusable(error)) throw failure
      throw new ObjectStoreError(
        'STORE_UNUSABLE',
        `${failure.message}. Look at S3_BUCKET, S3_ENDPOINT, S3_REGION, S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY.`,
      )
    }
  }

  return {
    name: 's3',
    check,

    async put(key, body, { contentType, bytes, signal }) {
      const name = nameOf(key)
      assertContentType(contentType)
      signal?.throwIfAborted()
      const params = {
        Bucket: bucket,
        Key: name,
        ContentType: contentType,
        ContentDisposition: isSafeToShow(contentType) ? 'inline' : 'attachment',
        CacheControl: 'private, max-age=3600',
      }
      let uploadId: string | undefined
      const source = checkedBody(body, { bytes, signal })
      try {
        await uploadToS3(source, {
          client,
          params,
          signal,
          onBegun(id) {
            uploadId = id
          },
          onMaybeBegun(begun) {
            inBackground(
              begun.then((id) => (id ? unfinished.abandon({ key: name, uploadId: id }) : undefined)),
            )
          },
        })
      } catch (error) {
        if (uploadId) await unfinished.abandon({ key: name, uploadId })
        source.throwFailure()
        signal?.throwIfAborted()
        throw s3Failure(`Could not store ${key} in the bucket ${bucket}`, error)
      }
      await tidyUp(name, uploadId !== undefined)
    },

    async head(key, signal) {
      const command = new HeadObjectCommand({ Bucket: bucket, Key: nameOf(key) })
      try {
        const { ContentLength = 0, ContentType = 'application/octet-stream' } = await client.send(
          command,
          ending(signal),
        )
        return { bytes: ContentLength, contentType: ContentType }
      } catch (error) {
        if (isNotFound(error)) {
          await check(signal)
          return null
        }
        signal?.throwIfAborted()
        throw s3Failure(`Could not look for ${key} in the bucket ${bucket}`, error)
      }
    },

    async signUrls(keys, { expiresInMs }) {
      const wanted = Math.ceil(expiresInMs / 1_000)
      if (wanted > MAX_SIGNED_SECONDS) throw new Error('S3 signs URLs for at most seven days.')
      // Dated back to the beginning of a window, and valid for as much longer: the same URL for all of the window.
      const windowSeconds = Math.min(steadyWindowSeconds(expiresInMs), MAX_SIGNED_SECONDS - wanted)
      const windowMs = Math.max(1, windowSeconds) * 1_000
      const signingDate = new Date(Math.floor(now() / windowMs) * windowMs)
      const expiresIn = wanted + windowSeconds
      return Promise.all(
        keys.map((key) => {
          const command = new GetObjectCommand({ Bucket: bucket, Key: nameOf(key) })
          return getSignedUrl(signer, command, { expiresIn, signingDate })
        }),
      )
    },

    async delete(keys, signal) {
      const names = keys.map(nameOf)
      for (let at = 0; at < names.length; at += DELETE_BATCH) {
        const Objects = names.slice(at, at + DELETE_BATCH).map((Key) => ({ Key }))
        const command = new DeleteObjectsCommand({ Bucket: bucket, Delete: { Objects, Quiet: true } })
        const what = `Could not delete from the bucket ${bucket}`
        const { Errors = [] } = await client.send(command, ending(signal)).catch((error) => {
          signal?.throwIfAborted()
          throw s3Failure(what, error)
        })
        const [first] = Errors
        if (first)
          throw new Error(`${what}: ${first.Message ?? ''} (${first.Code}, ${Errors.length} objects)`)
      }
    },

    async *list(keyPrefix, signal) {
      assertKeyPrefix(keyPrefix)
      try {
        const pages = paginateListObjectsV2(
          { client },
          { Bucket: bucket, Prefix: prefix + keyPrefix },
          ending(signal),
        )
        for await (const { Contents = [] } of pages) {
          for (const { Key } of Contents) if (Key) yield Key.slice(prefix.length)
        }
      } catch (error) {
        signal?.throwIfAborted()
        throw s3Failure(`Could not list the bucket ${bucket}`, error)
      }
    },

    async abandonUploads(olderThanMs) {
      await unfinished.abandonRemembered()
      return unfinished.abandonOld(prefix, olderThanMs)
    },

    async close() {
      clearInterval(timer)
      closing.abort(new Error('The store is closed.'))
      await Promise.race([Promise.all(underWay), delay(CLOSE_WITHIN_MS, undefined, { ref: false })])
      client.destroy()
      signer.destroy()
    },
  }
}

/** Shown by themselves, these are documents of the bucket's origin, and an SVG is one that can run scripts. */
function isSafeToShow(contentType: string): boolean {
  return /^(image|video|audio)\//.test(contentType) && !/svg/i.test(contentType)
}

function ending(signal: AbortSignal | undefined): { abortSignal?: AbortSignal } {
  return signal ? { abortSignal: signal } : {}
}
