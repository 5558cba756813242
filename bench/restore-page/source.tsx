/**
 * The algorithm that Holdfast sets out to better. It keeps no tasks in the browser: it asks for the list of what runs, then
 * for the status of each, five at a time, and goes on asking for each every two seconds in the tab that holds the task's
 * lock. Where it could be read in two ways, this is the faster: all cards are shown as soon as the list is there, polling
 * begins when all are restored, and its pauses (a second at first, 200 ms within a batch, a second between two) are left out.
 */
import type { Task } from '@holdfast/shared'
import { useEffect, useState } from 'react'
import { createRoot } from 'react-dom/client'
import { fetchTask, sync, toCard } from './api.ts'
import { Cards } from './cards.tsx'

const BATCH = 5
const POLL_MS = 2_000
const LOCK_MS = 30_000
const RENEW_MS = 15_000
const tab = crypto.randomUUID()

/** Read, then written: two tabs may both get it. */
function takeLock(id: string): boolean {
  const key = `task-lock-${id}`
  const { owner, at } = JSON.parse(localStorage.getItem(key) ?? '{}') as { owner?: string; at?: number }
  if (owner !== tab && Date.now() - (at ?? 0) < LOCK_MS) return false
  localStorage.setItem(key, JSON.stringify({ owner: tab, at: Date.now() }))
  return true
}

function Page() {
  const [tasks, setTasks] = useState<Task[]>([])
  const [confirmed, setConfirmed] = useState(false)

  useEffect(() => {
    const replace = (fresh: Task) =>
      setTasks((held) =>
        held.map((task) => (task.id === fresh.id && task.version < fresh.version ? fresh : task)),
      )

    /** In the tab that got the lock, every two seconds, and not while the last question is still open. */
    function poll({ id }: Task) {
      if (!takeLock(id)) return
      let isAsking = false
      setInterval(async () => {
        if (isAsking) return
        isAsking = true
        await fetchTask(id).then(replace, () => {})
        isAsking = false
      }, POLL_MS)
      setInterval(() => takeLock(id), RENEW_MS)
    }

    async function restore() {
      const { tasks: pending } = await sync({})
      setTasks(pending)
      for (let from = 0; from < pending.length; from += BATCH) {
        const batch = pending.slice(from, from + BATCH)
        for (const fresh of await Promise.all(batch.map(({ id }) => fetchTask(id)))) replace(fresh)
      }
      setConfirmed(true)
      for (const task of pending) poll(task)
    }
    void restore()
  }, [])

  return <Cards cards={tasks.map(toCard)} confirmed={confirmed} />
}

createRoot(document.getElementById('root') as HTMLElement).render(<Page />)
