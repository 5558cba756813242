/** Holdfast, as its guide says. */
import { createClient } from '@holdfast/client'
import { HoldfastProvider, useRestoredTasks } from '@holdfast/client/react'
import { createRoot } from 'react-dom/client'
import { toCard } from './api.ts'
import { Cards, userId } from './cards.tsx'

const client = createClient({ app: 'bench' })
client.setUser({ id: userId, getToken: () => userId })

function Page() {
  const { tasks, restore } = useRestoredTasks()
  return <Cards cards={tasks.map(toCard)} confirmed={restore === 'confirmed'} />
}

createRoot(document.getElementById('root') as HTMLElement).render(
  <HoldfastProvider client={client}>
    <Page />
  </HoldfastProvider>,
)
