import { hash } from 'node:crypto'
import { mkdir, open, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { gather } from './gather.ts'

export interface StoredFile {
  id: string
  path: string
  bytes: number
  sha256: string
}

/** Writes files so that a power cut takes none back: fsync of the file, rename, fsync of the folder. */
export async function createFileStore(folder: string) {
  const incoming = join(folder, 'incoming')
  const objects = join(folder, 'objects')
  await mkdir(incoming, { recursive: true })
  await mkdir(objects, { recursive: true })

  // One fsync of the folder is good for all files that were renamed before it.
  const syncFolder = gather(async (files: { id: string }[]) => {
    const handle = await open(objects, 'r')
    await handle.sync().finally(() => handle.close())
    return files
  })

  return async (id: string, body: Buffer): Promise<StoredFile> => {
    const temporary = join(incoming, id)
    const handle = await open(temporary, 'wx', 0o600)
    try {
      await handle.write(body)
      await handle.sync()
    } finally {
      await handle.close()
    }
    await rename(temporary, join(objects, id))
    await syncFolder({ id })
    return { id, path: `objects/${id}`, bytes: body.length, sha256: hash('sha256', body) }
  }
}
