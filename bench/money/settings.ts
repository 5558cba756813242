/** What each fixed-price task costs, and what every user begins with: enough for two. */
export const PRICE = 4
export const INITIAL = 10
export const ADMIN = 'root'
/** The token of somebody whose session has ended. */
export const SIGNED_OUT = 'signed-out'
export const SERVICE_KEY = 'the-service-key-of-the-money-proof-32'

/** Where vendors may call back, in the attempts about that. Nobody is there: it only tells creates apart. */
export const PUBLIC_URL = 'http://127.0.0.1:9'

export interface MoneyServerSettings {
  databaseUrl: string
  publicUrl: string | null
  vendors: Record<'kie' | 'replicate' | 'luma', string>
}
