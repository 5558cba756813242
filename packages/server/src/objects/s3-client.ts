import { createHash } from 'node:crypto'
import { S3Client, type S3ClientConfig } from '@aws-sdk/client-s3'

export interface S3Connection {
  /** For everything that is not Amazon's own, such as `https://ACCOUNT.r2.cloudflarestorage.com`. */
  endpoint?: string
  region: string
  accessKeyId: string
  secretAccessKey: string
  /** `endpoint/bucket/key` instead of `bucket.endpoint/key`. @default true with an endpoint of yours */
  forcePathStyle?: boolean
}

export function openS3Client(connection: S3Connection): S3Client {
  const { endpoint, region, accessKeyId, secretAccessKey } = connection
  const config: S3ClientConfig = {
    region,
    credentials: { accessKeyId, secretAccessKey },
    forcePathStyle: connection.forcePathStyle ?? endpoint !== undefined,
    // Checksums in trailers are Amazon's; other stores refuse or, worse, keep them as a part of the object.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    maxAttempts: 3,
    requestHandler: { connectionTimeout: 5_000, socketTimeout: 30_000 },
    ...(endpoint ? { endpoint } : {}),
  }
  const client = new S3Client(config)
  describeBodiesByMd5(client)
  return client
}

/**
 * A delete of several must carry a checksum. The SDK sends CRC32, which only newer stores know; all know the
 * `Content-MD5` that S3 asked for at first.
 */
function describeBodiesByMd5(client: S3Client): void {
  client.middlewareStack.add(
    (next, context) => async (args) => {
      if (context.commandName === 'DeleteObjectsCommand' && hasBody(args.request)) {
        const { headers, body } = args.request
        for (const name of Object.keys(headers)) {
          if (/^x-amz-(checksum-|sdk-checksum-)/i.test(name)) delete headers[name]
        }
        headers['content-md5'] = createHash('md5').update(body).digest('base64')
      }
      return next(args)
    },
    // After the checksum was written, before all is signed.
    { step: 'build', priority: 'low', name: 'describeBodiesByMd5' },
  )
}

interface RequestWithBody {
  headers: Record<string, string>
  body: string | Uint8Array
}

function hasBody(request: unknown): request is RequestWithBody {
  if (typeof request !== 'object' || request === null || !('body' in request)) return false
  return typeof request.body === 'string' || request.body instanceof Uint8Array
}
