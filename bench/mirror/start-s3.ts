import { request } from 'undici'
import { startTestRadosgw } from '../../packages/server/test/radosgw-for-tests.ts'
import type { S3Settings } from './settings.ts'
import { signPut } from './sign-put.ts'

/** A real S3 with an empty bucket. */
export async function startS3(): Promise<{ settings: S3Settings; stop(): Promise<void> }> {
  const gateway = await startTestRadosgw()
  const { endpoint, accessKeyId, secretAccessKey } = gateway
  const settings = { endpoint, accessKeyId, secretAccessKey, bucket: 'bench' }
  const { statusCode, body } = await request(signPut(settings, ''), { method: 'PUT' })
  const said = await body.text()
  if (statusCode !== 200) throw new Error(`The bucket was answered with ${statusCode}: ${said}`)
  return { settings, stop: gateway.stop }
}
