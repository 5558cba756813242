import { AbortMultipartUploadCommand, ListMultipartUploadsCommand, type S3Client } from '@aws-sdk/client-s3'
import { s3Code } from './s3-errors.ts'

/** An upload of several parts that was begun. Keys are the bucket's own, with the prefix. */
export interface BegunUpload {
  key: string
  uploadId: string
}

export interface UnfinishedUploads {
  /** Gives one up, and remembers to do it later where that cannot be done now. Never throws. */
  abandon(upload: BegunUpload): Promise<void>
  /** Gives up what could not be given up before. Never throws. */
  abandonRemembered(): Promise<void>
  /** Gives up all uploads under this prefix that began so long ago, and says how many. */
  abandonOld(prefix: string, olderThanMs: number, only?: (key: string) => boolean): Promise<number>
}

const ABANDON_WITHIN_MS = 5_000
const LIST_WITHIN_MS = 30_000

/**
 * An upload of several parts is invisible until it is completed, but the parts take room, and cost money, until it is
 * given up. Whoever is killed, or loses the store, in the middle leaves such parts.
 */
export function createUnfinishedUploads(
  client: S3Client,
  bucket: string,
  closing: AbortSignal,
): UnfinishedUploads {
  const remembered = new Map<string, BegunUpload>()

  async function abortUpload({ key, uploadId }: BegunUpload): Promise<void> {
    try {
      await client.send(new AbortMultipartUploadCommand({ Bucket: bucket, Key: key, UploadId: uploadId }), {
        abortSignal: AbortSignal.timeout(ABANDON_WITHIN_MS),
      })
    } catch (error) {
      // Completed after all, or given up by somebody else.
      if (s3Code(error) !== 'NoSuchUpload') throw error
    }
    remembered.delete(uploadId)
  }

  async function* listUploads(prefix: string): AsyncGenerator<BegunUpload & { began: number }> {
    let after: { KeyMarker?: string; UploadIdMarker?: string } = {}
    while (true) {
      const command = new ListMultipartUploadsCommand({ Bucket: bucket, Prefix: prefix, ...after })
      const limit = AbortSignal.timeout(LIST_WITHIN_MS)
      const page = await client.send(command, { abortSignal: AbortSignal.any([closing, limit]) })
      for (const { Key: key, UploadId: uploadId, Initiated } of page.Uploads ?? []) {
        if (key && uploadId) yield { key, uploadId, began: Initiated?.getTime() ?? Date.now() }
      }
      if (!page.IsTruncated || !page.NextKeyMarker) return
      after = { KeyMarker: page.NextKeyMarker }
      if (page.NextUploadIdMarker) after.UploadIdMarker = page.NextUploadIdMarker
    }
  }

  async function abandon(upload: BegunUpload): Promise<void> {
    remembered.set(upload.uploadId, upload)
    await abortUpload(upload).catch(() => {})
  }

  return {
    abandon,
    async abandonRemembered() {
      await Promise.all([...remembered.values()].map(abandon))
    },
    async abandonOld(prefix, olderThanMs, only = () => true) {
      const before = Date.now() - olderThanMs
      let abandoned = 0
      for await (const { began, ...upload } of listUploads(prefix)) {
        if (began > before || !only(upload.key)) continue
        await abortUpload(upload)
        abandoned++
      }
      return abandoned
    },
  }
}
