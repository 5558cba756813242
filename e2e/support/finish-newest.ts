import type { HoldfastProcess } from './holdfast-process.ts'

/** The simulated provider is done with the task it was given last, and tells so by webhook. */
export async function finishNewest({ simulatorUrl }: HoldfastProcess): Promise<void> {
  const { requests } = (await (await fetch(`${simulatorUrl}/simulator/requests`)).json()) as {
    requests: { path: string; taskId?: string }[]
  }
  const taskId = requests.findLast(({ path }) => path.endsWith('/createTask'))?.taskId
  const finished = await fetch(`${simulatorUrl}/simulator/finish`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ taskId }),
  })
  if (!finished.ok) throw new Error(`The simulator did not finish ${taskId}: ${await finished.text()}`)
}
