import { type Api, apiOf } from '../../e2e/support/api.ts'
import { startHoldfast } from '../../e2e/support/holdfast-process.ts'
import { buildPages } from './build-page.ts'
import { type PageServer, servePage } from './serve-page.ts'
import { readStreams, type StreamInLog } from './streams-in-log.ts'
import { lineOf } from './tab-state.ts'

export interface Person extends Pick<Api, 'userId' | 'tasks'> {
  /** Of the page, signed in as this person. */
  url: string
  /** As `TabState` has them. */
  taskLines(): Promise<string[]>
  /** The server's own account. */
  streams(): StreamInLog[]
}

/** A network of one's own that leads to the server, so that cutting it troubles nobody else. */
export interface Stage {
  network: PageServer
  /** One that nobody was before. */
  person(name: string): Promise<Person>
  close(): Promise<void>
}

export interface TabsLab {
  openStage(): Promise<Stage>
  close(): Promise<void>
}

/** A real server, and a small page with the client in it. */
export async function openTabsLab(): Promise<TabsLab> {
  const scripts = await buildPages()
  const holdfast = await startHoldfast()
  let people = 0

  return {
    async openStage() {
      const network = await servePage(scripts, holdfast.url)
      return {
        network,
        async person(name) {
          const { userId, token, tasks } = await apiOf(holdfast, `${name} ${++people}`)
          const user = { app: 'tabs', id: userId, token }
          return {
            userId,
            tasks,
            url: `${network.url}/#${encodeURIComponent(JSON.stringify(user))}`,
            taskLines: async () => (await tasks()).map(lineOf).sort(),
            streams: () => readStreams(holdfast.log, userId),
          }
        },
        close: network.close,
      }
    },
    close: holdfast.stop,
  }
}
