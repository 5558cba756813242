import { randomUUID } from 'node:crypto'
import { mkdir, open, opendir, rename, rm, rmdir, unlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { isMissing, type OpenedObject, openObjectFile, writeObjectFile } from './object-file.ts'
import { assertContentType, assertKeyPrefix, assertObjectKey } from './object-key.ts'
import type { ObjectStore } from './object-store.ts'
import { type PathVerdict, type SignedPath, signPath, steadyExpiry, verifyPath } from './signed-path.ts'
import { removeLeftovers, temporaryName } from './temporary-files.ts'

export interface FilesystemStoreOptions {
  /** Made if it is not there. Replicas may share it. */
  directory: string
  /** Where `fileRoutes` answers, seen from a browser, such as `https://api.example.com`. */
  baseUrl: string | (() => string)
  /** Signs the URLs; the same in all replicas. At least 16 characters. */
  secret: string
  /** @default Date.now */
  now?: () => number
}

export interface FilesystemStore extends ObjectStore {
  readonly name: 'filesystem'
  /** Whether such a URL was made by `signUrls` and has not ended yet. */
  verify(path: SignedPath): PathVerdict
  /** For reading; null if there is no such object. */
  open(key: string): Promise<OpenedObject | null>
}

/** No character of a key: so the file of `a` and the folder of `a/b` have different names. */
const FOLDER_MARK = '@'
/** Deleting removes emptied folders, maybe just as a put is about to use one. */
const MOVE_ATTEMPTS = 20

/** Objects as files in a folder, for one machine or a shared volume. `fileRoutes` serves them. */
export function createFilesystemStore(options: FilesystemStoreOptions): FilesystemStore {
  const { directory, secret, now = Date.now } = options
  if (secret.length < 16)
    throw new Error('The secret that signs the URLs of files needs 16 characters or more.')
  const objects = join(directory, 'objects')
  const incoming = join(directory, 'incoming')
  const baseUrl = () =>
    (typeof options.baseUrl === 'string' ? options.baseUrl : options.baseUrl()).replace(/\/+$/, '')

  let prepared: Promise<void> | undefined
  function prepare(): Promise<void> {
    prepared ??= makeReady().catch((error: unknown) => {
      // A disk that was away at the start may be there for the next put.
      prepared = undefined
      throw error
    })
    return prepared
  }
  async function makeReady(): Promise<void> {
    await mkdir(objects, { recursive: true, mode: 0o700 })
    await mkdir(incoming, { recursive: true, mode: 0o700 })
    await removeLeftovers(incoming)
  }
  // What fails here fails again, and is told, at the first put.
  prepare().catch(() => {})

  function pathOf(key: string): string {
    assertObjectKey(key)
    const segments = key.split('/')
    const name = segments.pop() ?? ''
    return join(objects, ...segments.map((segment) => segment + FOLDER_MARK), name)
  }

  return {
    name: 'filesystem',

    async put(key, body, { contentType, ...limits }) {
      const path = pathOf(key)
      assertContentType(contentType)
      limits.signal?.throwIfAborted()
      await prepare()
      const temporary = join(incoming, temporaryName(randomUUID()))
      try {
        await writeObjectFile(temporary, body, { contentType, ...limits })
        limits.signal?.throwIfAborted()
        await moveTo(path, temporary)
      } catch (error) {
        await rm(temporary, { force: true })
        throw error
      }
    },

    async head(key) {
      const object = await openObjectFile(pathOf(key))
      if (!object) return null
      await object.close()
      return { bytes: object.bytes, contentType: object.contentType }
    },

    async signUrls(keys, { expiresInMs }) {
      const expires = steadyExpiry(now(), expiresInMs)
      return keys.map((key) => {
        assertObjectKey(key)
        return `${baseUrl()}/${signPath(secret, key, expires)}`
      })
    },

    async delete(keys, signal) {
      // All of them first: a key that cannot be is a mistake, and then nothing is deleted.
      for (const path of keys.map(pathOf)) {
        signal?.throwIfAborted()
        await remove(path, objects)
      }
    },

    async *list(prefix, signal) {
      assertKeyPrefix(prefix)
      const segments = prefix.split('/')
      const start = segments.pop() ?? ''
      const folder = join(objects, ...segments.map((segment) => segment + FOLDER_MARK))
      yield* keysIn(folder, segments.map((segment) => `${segment}/`).join(''), start, signal)
    },

    verify: (path) => verifyPath(secret, path, now()),
    open: async (key) => openObjectFile(pathOf(key)),
    async close() {
      // Nothing is begun any more, and nothing is left running.
      await prepared?.catch(() => {})
    },
  }
}

async function moveTo(path: string, temporary: string): Promise<void> {
  const folder = dirname(path)
  for (let attempt = 1; ; attempt++) {
    try {
      await mkdir(folder, { recursive: true, mode: 0o700 })
      await rename(temporary, path)
      break
    } catch (error) {
      if (!isMissing(error) || attempt === MOVE_ATTEMPTS) throw error
    }
  }
  await syncFolder(folder)
}

/** Without it a power cut could take back a rename that was reported as done. */
async function syncFolder(folder: string): Promise<void> {
  try {
    const handle = await open(folder, 'r')
    await handle.sync().finally(() => handle.close())
  } catch {
    // Emptied and removed by a delete since, or a system on which folders cannot be opened.
  }
}

async function remove(path: string, root: string): Promise<void> {
  await unlink(path).catch((error: unknown) => {
    if (!isMissing(error)) throw error
  })
  for (let folder = dirname(path); folder !== root; folder = dirname(folder)) {
    // It fails for a folder that still has something in it; then those above it have, too.
    const removed = await rmdir(folder).then(
      () => true,
      (error: unknown) => isMissing(error),
    )
    if (!removed) return
  }
}

async function* keysIn(
  folder: string,
  above: string,
  start: string,
  signal: AbortSignal | undefined,
): AsyncGenerator<string> {
  signal?.throwIfAborted()
  const entries = await opendir(folder).catch((error: unknown) => {
    if (isMissing(error)) return null
    throw error
  })
  if (!entries) return
  for await (const entry of entries) {
    signal?.throwIfAborted()
    if (!entry.name.startsWith(start)) continue
    if (entry.isFile()) yield above + entry.name
    else if (entry.isDirectory() && entry.name.endsWith(FOLDER_MARK)) {
      yield* keysIn(join(folder, entry.name), `${above}${entry.name.slice(0, -1)}/`, '', signal)
    }
  }
}
