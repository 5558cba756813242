import { randomUUID } from 'node:crypto'
import { mkdir, open, opendir, readFile, rename, rm, rmdir, unlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { keptSecret } from './kept-secret.ts'
import { isMissing, type OpenedObject, openObjectFile, writeObjectFile } from './object-file.ts'
import { assertContentType, assertKeyPrefix, assertObjectKey } from './object-key.ts'
import type { ObjectStore } from './object-store.ts'
import { ObjectStoreError } from './object-store-error.ts'
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

  /** Random text in a file of its own, by which the folder is known again. */
  const mark = join(directory, 'store-id')

  let prepared: Promise<string> | undefined
  function prepare(): Promise<string> {
    prepared ??= makeReady().catch((error: unknown) => {
      // A disk that was away at the start may be there for the next put.
      prepared = undefined
      throw error
    })
    return prepared
  }
  async function makeReady(): Promise<string> {
    await mkdir(objects, { recursive: true, mode: 0o700 })
    await mkdir(incoming, { recursive: true, mode: 0o700 })
    await removeLeftovers(incoming)
    return keptSecret(mark)
  }

  /**
   * Where a volume was unmounted, its folder is empty: nothing is found in it, and everything in it counts as deleted.
   * So before that is believed, the folder must show the mark that it had when this process began to use it.
   */
  async function stillThere(): Promise<void> {
    const expected = await prepare()
    const found = await readFile(mark, 'utf8').catch((error: unknown) => {
      if (isMissing(error)) return ''
      throw error
    })
    if (found.trim() === expected) return
    throw new ObjectStoreError(
      'STORE_UNUSABLE',
      `The folder ${directory} is not the one that this process stored files in: ${mark} is ${found ? 'another' : 'missing'}. Is its volume mounted? Mount it, or restart to begin with an empty folder.`,
    )
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
    check: stillThere,

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
        if (isMissing(error)) await stillThere()
        throw error
      }
    },

    async head(key) {
      const object = await openObjectFile(pathOf(key))
      if (!object) {
        await stillThere()
        return null
      }
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
      let allFound = true
      for (const path of keys.map(pathOf)) {
        signal?.throwIfAborted()
        const found = await remove(path, objects)
        allFound &&= found
      }
      if (!allFound) await stillThere()
    },

    async *list(prefix, signal) {
      assertKeyPrefix(prefix)
      const segments = prefix.split('/')
      const start = segments.pop() ?? ''
      const folder = join(objects, ...segments.map((segment) => segment + FOLDER_MARK))
      let found = false
      for await (const key of keysIn(
        folder,
        segments.map((segment) => `${segment}/`).join(''),
        start,
        signal,
      )) {
        found = true
        yield key
      }
      if (!found) await stillThere()
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

/** Whether there was such a file. */
async function remove(path: string, root: string): Promise<boolean> {
  const found = await unlink(path).then(
    () => true,
    (error: unknown) => {
      if (!isMissing(error)) throw error
      return false
    },
  )
  for (let folder = dirname(path); folder !== root; folder = dirname(folder)) {
    // It fails for a folder that still has something in it; then those above it have, too.
    const removed = await rmdir(folder).then(
      () => true,
      (error: unknown) => isMissing(error),
    )
    if (!removed) break
  }
  return found
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
