import { createLog } from '../src/log.ts'
import { openObjectStore } from '../src/objects/open-object-store.ts'
import { hangingAfter, madeBytes } from './made-bytes.ts'

/**
 * A process that stores an object of which only the beginning ever comes, for tests that kill it. Says `waiting` when
 * it has read all that there is.
 */
const { settings, key, bytes } = JSON.parse(process.argv[2] ?? '{}')
const store = await openObjectStore(settings, { baseUrl: 'http://localhost', log: createLog('silent') })
const { body, reached } = hangingAfter(madeBytes(bytes))
const alive = setInterval(() => {}, 1_000)
reached.then(() => process.stdout.write('waiting\n'))
await store.put(key, body, { contentType: 'video/mp4' })
clearInterval(alive)
