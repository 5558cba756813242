import { fileURLToPath } from 'node:url'
import { type Replica, startServer } from '../replicas/start-server.ts'
import type { ReplicaSettings } from './replica-settings.ts'

const ENTRY = fileURLToPath(new URL('./replica-process.ts', import.meta.url))

/** Starts a server as an application would embed it, in a process of its own. */
export function startReplica(settings: ReplicaSettings): Promise<Replica> {
  return startServer({
    args: [ENTRY, JSON.stringify(settings)],
    readUrl: (line) => `http://127.0.0.1:${JSON.parse(line).port}`,
  })
}
