import { createServer } from 'node:net'

/** A port on 127.0.0.1 that nobody uses at this moment. */
export function freePort(): Promise<number> {
  return new Promise((found, failed) => {
    const probe = createServer()
    probe.once('error', failed)
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address()
      probe.close(() => {
        if (address && typeof address === 'object') found(address.port)
        else failed(new Error('The system gave no free port on 127.0.0.1.'))
      })
    })
  })
}
