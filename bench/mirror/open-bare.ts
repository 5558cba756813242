import { randomUUID } from 'node:crypto'
import { Pool } from 'undici'
import { resultKey } from '../../packages/server/src/artifacts/result-key.ts'
import { eachWithLimit } from '../poll/each-with-limit.ts'
import type { Contender } from './contender.ts'
import { openRawFolder, openRawS3 } from './raw-store.ts'
import type { ContenderSettings } from './settings.ts'

/** What one would write without asking for more: fetch, and pipe it there. */
export async function openBare(settings: ContenderSettings): Promise<Contender> {
  const { sourceUrl, folder, s3, concurrency } = settings
  const pool = new Pool(sourceUrl, { connections: concurrency, headersTimeout: 0, bodyTimeout: 0 })
  const store = s3 ? openRawS3(s3) : openRawFolder(folder)
  let pass = 0
  return {
    async prepare(files, bytes) {
      pass += 1
      // Where ours would be, so that the disk has the same to do.
      const copies = Array.from({ length: files }, (_, index) => ({
        path: `/${bytes}/${pass}-${index}.png`,
        key: resultKey({
          userId: `user-${index % 100}`,
          taskId: randomUUID(),
          ordinal: 0,
          contentType: 'image/png',
        }),
      }))
      return {
        run: () =>
          eachWithLimit(copies, concurrency, async ({ path, key }) => {
            const { statusCode, body } = await pool.request({ method: 'GET', path })
            if (statusCode !== 200) throw new Error(`The source answered with ${statusCode}.`)
            await store.put(key, body, bytes)
          }),
        async check() {},
      }
    },
    async close() {
      await pool.close()
      await store.close()
    },
  }
}
