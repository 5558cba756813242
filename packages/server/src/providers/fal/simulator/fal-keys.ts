import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { signedMessage } from '../read-fal-webhook.ts'

/** Two keys, of which the newer signs. A rotation makes a third and forgets the first. */
export function createFalKeys() {
  const make = () => generateKeyPairSync('ed25519')
  let keys = [make(), make()]
  const stranger = make()

  return {
    rotate() {
      keys = [...keys.slice(1), make()]
    },
    jwks: () => ({ keys: keys.map(({ publicKey }) => publicKey.export({ format: 'jwk' })) }),
    headersFor(
      { requestId, userId, atMs, body }: { requestId: string; userId: string; atMs: number; body: string },
      isForged: boolean,
    ): Record<string, string> {
      const timestamp = String(Math.floor(atMs / 1000))
      const message = signedMessage(requestId, userId, timestamp, Buffer.from(body))
      const key: KeyObject | undefined = (isForged ? stranger : keys.at(-1))?.privateKey
      if (!key) throw new Error('There is no key to sign with')
      return {
        'x-fal-webhook-request-id': requestId,
        'x-fal-webhook-user-id': userId,
        'x-fal-webhook-timestamp': timestamp,
        'x-fal-webhook-signature': sign(null, message, key).toString('hex'),
      }
    },
  }
}
