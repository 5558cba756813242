import type { Task } from '@holdfast/shared'
import type { Bus } from '../src/bus/bus.ts'
import { createHoldfast, type Holdfast, type HoldfastConfig } from '../src/create-holdfast.ts'
import type { TaskType } from '../src/tasks/task-types.ts'
import { createMemoryLog } from './memory-log.ts'
import { type EventReader, readEvents } from './read-events.ts'
import { createScriptedProvider, type Script, type ScriptedProvider } from './scripted-provider.ts'
import { scriptedTypes } from './scripted-types.ts'
import type { TestDatabase } from './test-database.ts'
import { signToken, testAuth } from './test-tokens.ts'

export interface TwoReplicas {
  /** Serves browsers; its engine does not run. */
  front: Holdfast
  /** Works. */
  back: Holdfast
  provider: ScriptedProvider
  logLines: string[]
  submit(userId: string): Promise<Task>
  /** At the front unless said. */
  openStream(userId: string, headers?: Record<string, string>, at?: Holdfast): Promise<EventReader>
  stop(): Promise<void>
}

export interface TwoReplicasOptions {
  database: TestDatabase
  script: Script
  type?: Partial<TaskType>
  front?: Partial<HoldfastConfig>
  back?: Partial<HoldfastConfig>
}

/** A hint that is sent before the other listens is lost. */
async function untilHeard(from: Bus, to: Bus): Promise<void> {
  for (let tries = 0; tries < 200 && !to.isWatched('probe'); tries++) {
    const undo = from.subscribe('probe', () => {})
    await new Promise((resolve) => setTimeout(resolve, 20))
    if (to.isWatched('probe')) return undo()
    undo()
  }
}

/** Two servers over one database: a browser at one, the work at the other. */
export async function startTwoReplicas(options: TwoReplicasOptions): Promise<TwoReplicas> {
  const provider = createScriptedProvider(options.script)
  const { log, lines } = createMemoryLog()
  const make = (config: Partial<HoldfastConfig> = {}) =>
    createHoldfast({
      database: options.database.url,
      auth: testAuth,
      providers: [provider],
      types: scriptedTypes(provider.name, options.type),
      log,
      ...config,
      engine: { idleMs: 10, stopWithinMs: 2_000, ...config.engine },
    })
  const front = make(options.front)
  const back = make(options.back)
  await Promise.all([front.ready(), back.start()])
  const [frontBus, backBus] = [options.front?.bus, options.back?.bus]
  if (frontBus && backBus) await Promise.all([untilHeard(frontBus, backBus), untilHeard(backBus, frontBus)])
  const as = async (userId: string) => ({ authorization: `Bearer ${await signToken(userId)}` })
  return {
    front,
    back,
    provider,
    logLines: lines,
    async submit(userId) {
      const response = await front.app.request('/v1/tasks', {
        method: 'POST',
        headers: { ...(await as(userId)), 'content-type': 'application/json' },
        body: JSON.stringify({ type: 'image', params: { prompt: 'a fox' } }),
      })
      return ((await response.json()) as { task: Task }).task
    },
    openStream: async (userId, headers = {}, at = front) =>
      readEvents(await at.app.request('/v1/stream', { headers: { ...(await as(userId)), ...headers } })),
    async stop() {
      await Promise.all([front.stop(), back.stop()])
    },
  }
}
