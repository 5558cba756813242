import { Readable } from 'node:stream'
import {
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  type PutObjectCommandInput,
  type S3Client,
} from '@aws-sdk/client-s3'
import { Upload } from '@aws-sdk/lib-storage'
import { onAbort } from '../providers/on-abort.ts'

export interface S3UploadOptions {
  client: S3Client
  params: Omit<PutObjectCommandInput, 'Body'>
  signal: AbortSignal | undefined
  /** It goes in parts. If the upload is then rejected, it is the caller who has to give those up. */
  onBegun(uploadId: string): void
  /** It is rejected while nobody knows yet whether parts were begun; these would have to be given up as well. */
  onMaybeBegun(uploadId: Promise<string | undefined>): void
}

/** The smallest that S3 takes. Bodies up to it are one request. */
const PART_BYTES = 5 * 1024 * 1024
/** Parts in memory at a time, beside the one that is being filled. */
const PARTS_AT_ONCE = 2
/** For the requests that are not broken off when the signal says so. */
const ANSWER_WITHIN_MS = 15_000

/**
 * Sends a body of unknown length, and rejects only when nothing of it can be stored any more.
 *
 * `Upload` alone would not do: on an abort it rejects at once and lets its requests run on, so that an object could
 * appear after it was reported as not stored; and it forgets its parts when the first or the last request fails.
 */
export async function uploadToS3(
  body: AsyncIterable<Uint8Array>,
  { client, params, signal, onBegun, onMaybeBegun }: S3UploadOptions,
): Promise<void> {
  const source = Readable.from(body, { highWaterMark: 1 })
  // Errors come by the reading of it; nobody reads any more when a request failed first.
  source.on('error', () => {})
  let failure: { error: unknown } | undefined

  // Broken off, we would not know what to give up.
  async function begin(command: CreateMultipartUploadCommand) {
    const sent = client.send(command, { abortSignal: AbortSignal.timeout(ANSWER_WITHIN_MS) })
    const { promise: aborted, reject } = Promise.withResolvers<never>()
    const stopListening = signal ? onAbort(signal, () => reject(signal.reason)) : () => {}
    try {
      const output = await Promise.race([sent, aborted])
      if (output.UploadId) onBegun(output.UploadId)
      return output
    } catch (error) {
      onMaybeBegun(
        sent.then(
          ({ UploadId }) => UploadId,
          () => undefined,
        ),
      )
      throw error
    } finally {
      stopListening()
    }
  }

  function send(command: Parameters<S3Client['send']>[0]): Promise<unknown> {
    if (command instanceof CreateMultipartUploadCommand) return begin(command)
    // Nothing is stored before this request, and all is after it. Broken off, we would not know which.
    const isLast = command instanceof CompleteMultipartUploadCommand
    const abortSignal = isLast ? AbortSignal.timeout(ANSWER_WITHIN_MS) : signal
    return client.send(command, abortSignal ? { abortSignal } : {})
  }

  const upload = new Upload({
    client: Object.create(client, {
      send: {
        value: (command: Parameters<S3Client['send']>[0]) =>
          send(command).catch((error: unknown) => {
            failure ??= { error }
            // A body that has nothing to say at the moment would otherwise keep us waiting.
            source.destroy()
            throw error
          }),
      },
    }),
    params: { ...params, Body: source },
    partSize: PART_BYTES,
    queueSize: PARTS_AT_ONCE,
    leavePartsOnError: true,
  })
  try {
    await upload.done()
  } catch (error) {
    // Not the complaint about the body, which is a consequence.
    throw failure ? failure.error : error
  } finally {
    source.destroy()
  }
}
