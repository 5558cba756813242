import type { Task, TaskStatus } from '@holdfast/shared'
import { allPages } from './all-pages.ts'
import type { Http } from './http.ts'

/** `active`: pending and running. `settled`: what has ended. */
export type ListedStatus = TaskStatus | 'active' | 'settled' | 'all'

export interface ListQuery {
  /** One, or several. @default 'active' */
  status?: ListedStatus | ListedStatus[]
  type?: string
  conversationId?: string
}

/** Tasks from the server, all pages, whether or not they are in the store. */
export function listTasks(
  { request }: { request: Http['json'] },
  { status, ...query }: ListQuery = {},
): Promise<Task[]> {
  return allPages<Task>(request, '/v1/tasks', 'tasks', {
    ...query,
    ...(status && { status: String(status) }),
  })
}
