import { createHash, createHmac } from 'node:crypto'
import type { S3Settings } from './settings.ts'

/** A URL to which anybody can PUT this object for an hour: signature version 4 in the query, by the book. */
export function signPut({ endpoint, accessKeyId, secretAccessKey, bucket }: S3Settings, key: string): URL {
  const stamp = new Date().toISOString().replace(/[-:]|\.\d{3}/g, '')
  const scope = `${stamp.slice(0, 8)}/us-east-1/s3/aws4_request`
  const url = new URL(`/${bucket}/${key}`, endpoint)
  const query = [
    ['X-Amz-Algorithm', 'AWS4-HMAC-SHA256'],
    ['X-Amz-Credential', `${accessKeyId}/${scope}`],
    ['X-Amz-Date', stamp],
    ['X-Amz-Expires', '3600'],
    ['X-Amz-SignedHeaders', 'host'],
  ]
    .map(([name = '', value = '']) => `${name}=${encodeURIComponent(value)}`)
    .join('&')
  const request = `PUT\n${url.pathname}\n${query}\nhost:${url.host}\n\nhost\nUNSIGNED-PAYLOAD`
  const hash = createHash('sha256').update(request).digest('hex')
  const hmac = (secret: string | Buffer, text: string) => createHmac('sha256', secret).update(text).digest()
  const signingKey = scope.split('/').reduce<string | Buffer>(hmac, `AWS4${secretAccessKey}`)
  const signature = hmac(signingKey, `AWS4-HMAC-SHA256\n${stamp}\n${scope}\n${hash}`).toString('hex')
  url.search = `${query}&X-Amz-Signature=${signature}`
  return url
}
