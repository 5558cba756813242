import type { Logger } from 'pino'
import { createFilesystemStore } from './filesystem-store.ts'
import { keptSecret } from './kept-secret.ts'
import type { ObjectSettings } from './object-settings.ts'
import type { ObjectStore } from './object-store.ts'

export interface OpenObjectStoreOptions {
  /** Where browsers reach this server, for the URLs of files that it serves itself: those in a folder. */
  baseUrl?: string | (() => string)
  log?: Logger
}

/**
 * The store that the settings ask for.
 *
 * The libraries for S3 and Supabase are loaded only here and only if they are used: the first alone takes longer than
 * the rest of the server to load.
 */
export async function openObjectStore(
  settings: ObjectSettings,
  { baseUrl, log }: OpenObjectStoreOptions = {},
): Promise<ObjectStore> {
  if (settings.kind === 's3') {
    const { createS3Store } = await import('./s3-store.ts')
    return createS3Store({ ...settings, ...(log ? { log } : {}) })
  }
  if (settings.kind === 'supabase') {
    const { createSupabaseStore } = await import('./supabase-store.ts')
    return createSupabaseStore(settings)
  }
  if (baseUrl === undefined) {
    throw new Error('Files in a folder are served from here, so a store of them needs baseUrl.')
  }
  const secret = settings.secret ?? (await keptSecret(settings.secretFile))
  return createFilesystemStore({ directory: settings.directory, secret, baseUrl })
}
