import type { LookupAddress } from 'node:dns'
import { type AddressInfo, connect, isIP, type Server, type Socket } from 'node:net'
import type { SourceOpenerParts } from '../src/artifacts/source/open-source.ts'

/** A public address, as far as the rules can tell. */
export const PUBLIC = '93.184.215.14'

export interface SourceWorld {
  /** Parts of an opener that lives in this world. */
  parts: SourceOpenerParts
  /** What names resolve to, answer by answer; the last one stays. All others are at `PUBLIC`. */
  names: Map<string, string[][]>
  /** Names looked up, and addresses dialled, in order. */
  lookedUp: string[]
  dialled: string[]
  /** Sockets that were opened. */
  sockets: Socket[]
  close(): Promise<void>
}

/**
 * An internet whose every host, under http and https alike, is one real server on loopback. Addresses are looked up and
 * checked as ever; only the last step, the connecting, ends at that server, on a socket that claims the address which was
 * asked for.
 */
export async function createSourceWorld(listening: Server): Promise<SourceWorld> {
  const open = new Set<Socket>()
  listening.on('connection', (socket: Socket) => {
    open.add(socket)
    socket.on('error', () => undefined).on('close', () => open.delete(socket))
  })
  await new Promise<void>((done) => listening.listen(0, '127.0.0.1', done))
  const { port } = listening.address() as AddressInfo

  const names: SourceWorld['names'] = new Map()
  const world: Pick<SourceWorld, 'lookedUp' | 'dialled' | 'sockets'> = {
    lookedUp: [],
    dialled: [],
    sockets: [],
  }
  return {
    ...world,
    names,
    parts: {
      async lookup(hostname) {
        world.lookedUp.push(hostname)
        const answers = names.get(hostname) ?? [[PUBLIC]]
        const answer = answers.length > 1 ? answers.shift() : answers[0]
        return (answer ?? []).map((address): LookupAddress => ({ address, family: isIP(address) }))
      },
      connect(_options, addresses, callback) {
        world.dialled.push(...addresses.map(({ address }) => address))
        const socket = connect(port, '127.0.0.1')
        world.sockets.push(socket)
        Object.defineProperty(socket, 'remoteAddress', { value: addresses[0]?.address, configurable: true })
        socket.once('error', (error) => callback(error, null)).once('connect', () => callback(null, socket))
      },
    },
    async close() {
      for (const socket of open) socket.destroy()
      await new Promise((done) => listening.close(done))
    },
  }
}
