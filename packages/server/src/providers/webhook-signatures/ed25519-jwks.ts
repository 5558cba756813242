import { createPublicKey, type KeyObject, verify } from 'node:crypto'
import { asRecord, parseJson } from '../read-json.ts'
import { createKeptKeys, type KeptKeysOptions, type KeyCheck } from './kept-keys.ts'

export interface JwksOptions extends Omit<KeptKeysOptions<never>, 'fetchKeys'> {
  /** The key set as JSON text; null if it could not be had. */
  fetchKeySet: () => Promise<string | null>
}

/** A rotation has two. */
const MOST_KEYS = 10

/** Checks Ed25519 signatures against a key set that the vendor publishes. */
export function createEd25519Jwks({
  fetchKeySet,
  ...options
}: JwksOptions): (message: Uint8Array, signature: Uint8Array) => Promise<KeyCheck> {
  const checkWith = createKeptKeys<KeyObject[]>({
    ...options,
    async fetchKeys() {
      const text = await fetchKeySet()
      const keys = text === null ? [] : readKeys(text)
      return keys.length > 0 ? keys : null
    },
  })
  return (message, signature) =>
    checkWith((keys) => keys.some((key) => verify(null, message, key, signature)))
}

function readKeys(text: string): KeyObject[] {
  const listed = asRecord(parseJson(text))?.keys
  return (Array.isArray(listed) ? listed : []).slice(0, MOST_KEYS).flatMap((listedKey) => {
    const { kty, crv, x } = asRecord(listedKey) ?? {}
    if (kty !== 'OKP' || crv !== 'Ed25519' || typeof x !== 'string') return []
    try {
      return [createPublicKey({ key: { kty, crv, x }, format: 'jwk' })]
    } catch {
      // One broken key must not hide the others.
      return []
    }
  })
}
