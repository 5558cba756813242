/** The limit: the same cards, of tasks that nobody has to look for. */
import { createRoot } from 'react-dom/client'
import { sampleTask } from '../stream/sample-task.ts'
import { toCard } from './api.ts'
import { Cards } from './cards.tsx'

const size = Number(new URLSearchParams(location.search).get('tasks'))
const cards = Array.from({ length: size }, (_, n) => toCard({ ...sampleTask, id: `task-${n}` }))

createRoot(document.getElementById('root') as HTMLElement).render(<Cards cards={cards} confirmed />)
