import { CreateBucketCommand, ListMultipartUploadsCommand, ListPartsCommand } from '@aws-sdk/client-s3'
import { openS3Client } from '../src/objects/s3-client.ts'
import type { TestRadosgw } from './radosgw-for-tests.ts'

/** An empty bucket, and what only its owner sees of it. */
export async function makeBucket(gateway: TestRadosgw, bucket: string) {
  const { endpoint, accessKeyId, secretAccessKey } = gateway
  const options = { endpoint, region: 'us-east-1', bucket, accessKeyId, secretAccessKey }
  const client = openS3Client(options)
  await client.send(new CreateBucketCommand({ Bucket: bucket }))

  async function unfinished(): Promise<{ key: string; uploadId: string }[]> {
    const { Uploads = [] } = await client.send(new ListMultipartUploadsCommand({ Bucket: bucket }))
    return Uploads.map(({ Key = '', UploadId = '' }) => ({ key: Key, uploadId: UploadId }))
  }

  return {
    options,
    client,
    unfinished,
    /** How many parts of unfinished uploads there are. */
    async parts(): Promise<number> {
      let count = 0
      for (const { key, uploadId } of await unfinished()) {
        const { Parts = [] } = await client.send(
          new ListPartsCommand({ Bucket: bucket, Key: key, UploadId: uploadId }),
        )
        count += Parts.length
      }
      return count
    },
  }
}

export type TestBucket = Awaited<ReturnType<typeof makeBucket>>
