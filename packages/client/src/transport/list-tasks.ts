import type { Task } from '@holdfast/shared'
import { allPages } from './all-pages.ts'
import type { Http } from './http.ts'

export interface ListQuery {
  /** @default 'active' */
  status?: 'active' | 'settled' | 'all'
  conversationId?: string
}

/** Tasks from the server, all pages, whether or not they are in the store. */
export function listTasks({ request }: { request: Http['json'] }, query: ListQuery = {}): Promise<Task[]> {
  return allPages<Task>(request, '/v1/tasks', 'tasks', { ...query })
}
