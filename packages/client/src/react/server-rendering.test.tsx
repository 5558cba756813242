import { renderToString } from 'react-dom/server'
import { expect, it } from 'vitest'
import { createClient } from '../index.ts'
import {
  HoldfastProvider,
  useConnection,
  useRestoredTasks,
  useSubmitTask,
  useTask,
  useTaskSettled,
} from './index.ts'

function Page() {
  const { tasks, placeholders, restore, isRestoring } = useRestoredTasks()
  const { connection, tabId } = useConnection()
  const { isSubmitting } = useSubmitTask()
  useTaskSettled(() => {})
  const shown = {
    tasks,
    placeholders,
    restore,
    isRestoring,
    connection,
    tabId,
    isSubmitting,
    task: useTask('a')?.id,
  }
  return <pre>{JSON.stringify(shown)}</pre>
}

it('renders on a server, without a browser, and the same every time so that hydration agrees', () => {
  expect(globalThis).not.toHaveProperty('window')
  const page = () =>
    renderToString(
      <HoldfastProvider client={createClient()}>
        <Page />
      </HoldfastProvider>,
    )
  expect(page()).toContain('signed-out')
  expect(page()).toBe(page())
})
