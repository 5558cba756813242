import { Pool } from 'undici'
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
      const paths = Array.from({ length: files }, (_, index) => `/${bytes}/${pass}-${index}.png`)
      return {
        run: () =>
          eachWithLimit(paths, concurrency, async (path) => {
            const { statusCode, body } = await pool.request({ method: 'GET', path })
            if (statusCode !== 200) throw new Error(`The source answered with ${statusCode}.`)
            await store.put(`bare${path}`, body, bytes)
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
