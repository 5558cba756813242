import type { Task } from '@holdfast/shared'
import { type Api, apiOf } from '../../e2e/support/api.ts'
import { startHoldfast } from '../../e2e/support/holdfast-process.ts'
import { buildPage } from './build-page.ts'
import { type PageServer, servePage } from './serve-page.ts'
import { readStreams, type StreamInLog } from './streams-in-log.ts'
import { lineOf } from './tab-state.ts'

export interface Person extends Pick<Api, 'userId'> {
  /** Of the page, signed in as this person. */
  url: string
  tasks(): Promise<Task[]>
  /** As `TabState` has them. */
  taskLines(): Promise<string[]>
  /** The server's own account. */
  streams(): StreamInLog[]
}

export interface TabsLab {
  pages: PageServer
  /** A person that nobody was before. */
  person(name: string): Promise<Person>
  close(): Promise<void>
}

/** A real server, and a small page with the client in it. */
export async function openTabsLab(): Promise<TabsLab> {
  const script = await buildPage()
  const holdfast = await startHoldfast()
  const pages = await servePage(script, holdfast.url)
  let people = 0

  return {
    pages,
    async person(name) {
      const api = await apiOf(holdfast, `${name} ${++people}`)
      const user = { app: 'tabs', id: api.userId, token: api.token }
      return {
        userId: api.userId,
        url: `${pages.url}/#${encodeURIComponent(JSON.stringify(user))}`,
        tasks: api.tasks,
        taskLines: async () => (await api.tasks()).map(lineOf).sort(),
        streams: () => readStreams(holdfast.log, api.userId),
      }
    },
    async close() {
      await pages.close()
      await holdfast.stop()
    },
  }
}
