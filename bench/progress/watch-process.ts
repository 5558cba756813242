/** One stream per user, each of which has to show every step of every task of that user, in order. */
import type { StreamEvents } from '@holdfast/shared'
import type { WatchCount, WatchOrder } from './progress-messages.ts'

const count = { steps: 0, backwards: 0, skipped: 0, repeated: 0 }

async function watch(port: number, userId: string, onOpen: () => void): Promise<void> {
  const shown = new Map<string, number>()
  const response = await fetch(`http://127.0.0.1:${port}/v1/stream`, {
    headers: { authorization: `Bearer ${userId}` },
  })
  const decoder = new TextDecoder()
  let text = ''
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk, { stream: true })
    for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
      read(text.slice(0, end), shown, onOpen)
      text = text.slice(end + 2)
    }
  }
}

function read(block: string, shown: Map<string, number>, onOpen: () => void): void {
  const data = /^data: (.*)$/m.exec(block)?.[1]
  if (data === undefined) return
  if (block.includes('event: snapshot')) {
    const { tasks } = JSON.parse(data) as StreamEvents['snapshot']
    for (const { id, progress } of tasks) shown.set(id, progress ?? 0)
    onOpen()
    return
  }
  const { task } = JSON.parse(data) as StreamEvents['task']
  const before = shown.get(task.id) ?? 0
  const progress = task.progress ?? 0
  if (progress > before) {
    count.steps += 1
    count.skipped += progress - before - 1
  } else if (progress < before) count.backwards += 1
  else count.repeated += 1
  shown.set(task.id, Math.max(before, progress))
}

const answer = (given: WatchCount) => process.send?.(given)
process.on('message', async (order: WatchOrder) => {
  if (order.kind === 'count') {
    answer({ kind: 'count', ...count })
    return
  }
  const open = Array.from({ length: order.users }, (_, n) => {
    return new Promise<void>((resolve) => void watch(order.port, `user-${n}`, resolve))
  })
  await Promise.all(open)
  answer({ kind: 'open' })
})
process.on('disconnect', () => process.exit(0))
answer({ kind: 'ready' })
