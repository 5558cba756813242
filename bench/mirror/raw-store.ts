import { randomUUID } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { mkdir, open, rename } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { Pool } from 'undici'
import type { S3Settings } from './settings.ts'
import { signPut } from './sign-put.ts'

/** Puts a stream where the store of the same kind would, and does nothing else with it. */
export interface RawStore {
  put(key: string, body: Readable, bytes: number): Promise<void>
  close(): Promise<void>
}

/**
 * The file operations of our own store, without its hash and its trailer: a new file, flushed to the disk, moved to its
 * place, which is flushed as well. A file that is not on the disk is not stored.
 */
export function openRawFolder(folder: string): RawStore {
  return {
    async put(key, body) {
      const path = join(folder, key)
      const temporary = join(folder, randomUUID())
      await pipeline(body, createWriteStream(temporary, { flags: 'wx', flush: true }))
      await mkdir(dirname(path), { recursive: true })
      await rename(temporary, path)
      const place = await open(dirname(path), 'r')
      await place.sync().finally(() => place.close())
    },
    async close() {},
  }
}

/** One plain PUT per file, to a URL that is signed beforehand. */
export function openRawS3(settings: S3Settings): RawStore {
  const pool = new Pool(settings.endpoint, { connections: 64, headersTimeout: 0, bodyTimeout: 0 })
  return {
    async put(key, body, bytes) {
      const url = signPut(settings, key)
      const { statusCode, body: answer } = await pool.request({
        method: 'PUT',
        path: url.pathname + url.search,
        headers: { 'content-length': String(bytes), 'content-type': 'image/png' },
        body,
      })
      const said = await answer.text()
      if (statusCode !== 200) throw new Error(`The store answered with ${statusCode}: ${said.slice(0, 500)}`)
    },
    close: () => pool.close(),
  }
}
