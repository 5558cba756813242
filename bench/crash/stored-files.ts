import { createHash } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { createFilesystemStore } from '../../packages/server/src/objects/filesystem-store.ts'

/** What is in a store at the end of a case. */
export interface StoredFiles {
  objects: { key: string; sha256: string }[]
  /** Files that somebody began to write and nobody finished. */
  unfinished: number
}

export async function readStoredFiles(folder: string): Promise<StoredFiles> {
  const unfinished = await readdir(join(folder, 'incoming'))
  const store = createFilesystemStore({
    directory: folder,
    baseUrl: 'http://127.0.0.1',
    secret: 'only for crashes',
  })
  const objects: StoredFiles['objects'] = []
  for await (const key of store.list('')) {
    const object = await store.open(key)
    if (!object) throw new Error(`${key} is listed, but not there.`)
    const hash = createHash('sha256')
    for await (const chunk of object.stream(0, object.bytes)) hash.update(chunk)
    objects.push({ key, sha256: hash.digest('hex') })
  }
  return { objects, unfinished: unfinished.length }
}

/** What a file should be: as its source gives it out. */
export async function hashOfSource(url: string): Promise<string> {
  const response = await fetch(url)
  if (!response.ok) throw new Error(`The source answered with ${response.status}.`)
  return createHash('sha256')
    .update(new Uint8Array(await response.arrayBuffer()))
    .digest('hex')
}
