/**
 * TanStack Query with persistence in IndexedDB and the broadcast between tabs, each as its documentation has it. It asks the
 * same question as Holdfast does, all tasks in one request and only for what changed, as often as Holdfast polls.
 */
import type { Task } from '@holdfast/shared'
import { broadcastQueryClient } from '@tanstack/query-broadcast-client-experimental'
import { QueryClient, useQuery } from '@tanstack/react-query'
import {
  type PersistedClient,
  type Persister,
  PersistQueryClientProvider,
} from '@tanstack/react-query-persist-client'
import { createStore, del, get, set } from 'idb-keyval'
import { createRoot } from 'react-dom/client'
import { sync, toCard } from './api.ts'
import { Cards, userId } from './cards.tsx'

const POLL_MS = 2_000
const DAY_MS = 24 * 60 * 60 * 1_000

const store = createStore('tanstack', 'kept')
const persister: Persister = {
  persistClient: (client) => set(userId, client, store),
  restoreClient: () => get<PersistedClient>(userId, store),
  removeClient: () => del(userId, store),
}
const queryClient = new QueryClient({ defaultOptions: { queries: { gcTime: DAY_MS } } })
broadcastQueryClient({ queryClient, broadcastChannel: `tanstack-${userId}` })

const queryKey = ['tasks', userId]

async function fetchTasks(): Promise<Task[]> {
  const held = queryClient.getQueryData<Task[]>(queryKey) ?? []
  const known: Parameters<typeof sync>[0] = {}
  // In a loop, since Object.fromEntries takes twenty times as long for a thousand of them.
  for (const task of held) known[task.id] = [task.version, task.progress]
  const answer = await sync(known)
  if (answer.tasks.length === 0 && answer.gone.length === 0) return held
  const tasks = new Map(held.map((task) => [task.id, task]))
  for (const task of answer.tasks) tasks.set(task.id, task)
  for (const id of answer.gone) tasks.delete(id)
  return [...tasks.values()]
}

function Page() {
  const { data = [], dataUpdatedAt } = useQuery({
    queryKey,
    queryFn: fetchTasks,
    refetchInterval: POLL_MS,
  })
  // What was restored is older than this page.
  return <Cards cards={data.map(toCard)} confirmed={dataUpdatedAt > performance.timeOrigin} />
}

createRoot(document.getElementById('root') as HTMLElement).render(
  <PersistQueryClientProvider client={queryClient} persistOptions={{ persister }}>
    <Page />
  </PersistQueryClientProvider>,
)
