import { type Dispatcher, Pool } from 'undici'

interface Job {
  id: string
  state: 'running' | 'done'
  files: string[]
}

const WITHIN_MS = 10_000

/** The vendor as everything that is written by hand calls it: undici's `dispatch`, the cheapest way that there is. */
export function createVendorClient(vendorUrl: string) {
  const pool = new Pool(vendorUrl, { connections: 50 })

  function call(method: 'GET' | 'POST', path: string, body?: string): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      const chunks: Buffer[] = []
      let status = 0
      const handler: Dispatcher.DispatchHandler = {
        onRequestStart() {},
        onResponseStart(_, statusCode) {
          status = statusCode
        },
        onResponseData(_, chunk) {
          chunks.push(chunk)
        },
        onResponseEnd() {
          if (status === 200) resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks))
          else reject(new Error(`The vendor answered ${status} to ${path}.`))
        },
        onResponseError(_, error) {
          reject(error)
        },
      }
      const headers = { authorization: 'Bearer lifecycle-key', 'content-type': 'application/json' }
      const within = { headersTimeout: WITHIN_MS, bodyTimeout: WITHIN_MS }
      pool.dispatch({ method, path, headers, body: body ?? null, ...within }, handler)
    })
  }

  return {
    async create(params: unknown): Promise<string> {
      const job: Job = JSON.parse((await call('POST', '/jobs', JSON.stringify(params))).toString())
      return job.id
    },
    /** The URL of the file of a job that is done, else null. */
    async query(externalId: string): Promise<string | null> {
      const job: Job = JSON.parse((await call('GET', `/jobs/${externalId}`)).toString())
      return job.state === 'done' ? (job.files[0] ?? null) : null
    },
    file: (url: string) => call('GET', new URL(url).pathname),
  }
}
