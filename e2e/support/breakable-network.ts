import { once } from 'node:events'
import { createServer, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** The way from a browser to the server, which can break. The same for every engine, since none of them knows of it. */
export interface BreakableNetwork {
  url: string
  /**
   * Ends what is under way and lets nothing through from now on. With a path, only what is below it: the app itself
   * can still be loaded.
   */
  cut(path?: string): void
  restore(): void
  close(): Promise<void>
}

export async function openNetwork(serverUrl: string): Promise<BreakableNetwork> {
  let cutBelow: string | null = null
  const underWay = new Map<ServerResponse, string>()
  const isCut = (path: string) => cutBelow !== null && path.startsWith(cutBelow)

  const proxy = createServer((asked, answer) => {
    const path = asked.url ?? '/'
    if (isCut(path)) return asked.destroy()
    underWay.set(answer, path)
    const passed = request(new URL(path, serverUrl), { method: asked.method, headers: asked.headers })
    passed.once('response', (given) => {
      answer.writeHead(given.statusCode ?? 502, given.headers)
      given.pipe(answer)
      given.once('error', () => answer.destroy())
    })
    passed.once('error', () => answer.destroy())
    answer.once('close', () => {
      underWay.delete(answer)
      passed.destroy()
    })
    asked.pipe(passed)
  })
  proxy.listen(0, '127.0.0.1')
  await once(proxy, 'listening')

  return {
    url: `http://localhost:${(proxy.address() as AddressInfo).port}`,
    cut(path = '/') {
      cutBelow = path
      for (const [answer, of] of underWay) if (isCut(of)) answer.destroy()
    },
    restore() {
      cutBelow = null
    },
    async close() {
      proxy.closeAllConnections()
      proxy.close()
      await once(proxy, 'close')
    },
  }
}
