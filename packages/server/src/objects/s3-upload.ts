import { Readable } from 'node:stream'
import {
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  type PutObjectCommandInput,
  type S3Client,
} from '@aws-sdk/client-s3'
import { Upload } from '@aws-sdk/lib-storage'

export interface S3UploadOptions {
  client: S3Client
  params: Omit<PutObjectCommandInput, 'Body'>
  signal: AbortSignal | undefined
}

/** The smallest that S3 takes. Bodies up to it are one request. */
const PART_BYTES = 5 * 1024 * 1024
/** Parts in memory at a time, beside the one that is being filled. */
const PARTS_AT_ONCE = 2
const COMPLETE_WITHIN_MS = 15_000

/**
 * Sends a body of unknown length, and rejects only when nothing of it is under way any more. `uploadId` is set when
 * it went in parts; after a rejection it is the caller who has to give those up.
 *
 * `Upload` alone would not do: on an abort it rejects at once and lets its requests run on, so that an object could
 * appear after it was reported as not stored; and it forgets its parts when the last request fails.
 */
export async function uploadToS3(
  body: AsyncIterable<Uint8Array>,
  { client, params, signal }: S3UploadOptions,
  begun: { uploadId?: string },
): Promise<void> {
  const source = Readable.from(body, { highWaterMark: 1 })
  // Errors come by the reading of it; nobody reads any more when a request failed first.
  source.on('error', () => {})
  const send = async (command: Parameters<S3Client['send']>[0]): Promise<unknown> => {
    // Nothing is stored before this request, and all is after it. To break it off would leave us not knowing.
    const last = command instanceof CompleteMultipartUploadCommand
    const abortSignal = last ? AbortSignal.timeout(COMPLETE_WITHIN_MS) : signal
    try {
      const output = await client.send(command, abortSignal ? { abortSignal } : {})
      if (command instanceof CreateMultipartUploadCommand && 'UploadId' in output)
        begun.uploadId = output.UploadId
      return output
    } catch (error) {
      // A body that has nothing to say at the moment would otherwise keep us waiting.
      source.destroy(error instanceof Error ? error : undefined)
      throw error
    }
  }
  const upload = new Upload({
    client: Object.create(client, { send: { value: send } }),
    params: { ...params, Body: source },
    partSize: PART_BYTES,
    queueSize: PARTS_AT_ONCE,
    leavePartsOnError: true,
  })
  try {
    await upload.done()
  } finally {
    source.destroy()
  }
}
