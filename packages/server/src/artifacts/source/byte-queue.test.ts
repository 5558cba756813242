import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createByteQueue } from './byte-queue.ts'

function queueOf(highWaterBytes: number) {
  const seen = { room: 0, abandoned: 0 }
  const queue = createByteQueue({
    highWaterBytes,
    onRoom: () => seen.room++,
    onAbandon: () => seen.abandoned++,
  })
  return { queue, seen, reader: queue[Symbol.asyncIterator]() }
}

test('O2 what comes out is what went in, in order, and no more waits than was allowed', async () => {
  const chunks = fc.array(fc.uint8Array({ minLength: 1, maxLength: 20 }), { maxLength: 40 })
  await fc.assert(
    fc.asyncProperty(
      chunks,
      fc.integer({ min: 1, max: 60 }),
      fc.scheduler(),
      async (pushed, high, scheduler) => {
        let room: (() => void) | undefined
        let waiting = 0
        let most = 0
        const queue = createByteQueue({
          highWaterBytes: high,
          onRoom: () => room?.(),
          onAbandon: () => undefined,
        })
        const produce = async () => {
          for (const chunk of pushed) {
            await scheduler.schedule(Promise.resolve())
            waiting += chunk.length
            most = Math.max(most, waiting)
            if (!queue.push(chunk)) await new Promise<void>((resolve) => (room = resolve))
          }
          queue.end()
        }
        const received: Uint8Array[] = []
        const consume = async () => {
          for await (const chunk of queue) {
            waiting -= chunk.length
            received.push(chunk)
            await scheduler.schedule(Promise.resolve())
          }
        }
        await scheduler.waitFor(Promise.all([produce(), consume()]))
        expect(Buffer.concat(received)).toEqual(Buffer.concat(pushed))
        expect(most).toBeLessThan(high + 20)
      },
    ),
  )
})

test('O2 a look at the first bytes takes none of them', async () => {
  const { queue, reader } = queueOf(100)
  const looking = queue.peek(5)
  queue.push(Uint8Array.of(1, 2))
  queue.push(Uint8Array.of(3, 4, 5, 6))
  expect([...(await looking)]).toEqual([1, 2, 3, 4, 5])
  queue.end()
  expect([...(await queue.peek(50))]).toEqual([1, 2, 3, 4, 5, 6])
  expect(await reader.next()).toEqual({ value: Uint8Array.of(1, 2), done: false })
})

test('O2 after a failure nothing more is handed out', async () => {
  const { queue, reader, seen } = queueOf(100)
  queue.push(Uint8Array.of(1))
  queue.fail(new Error('broken'))
  queue.push(Uint8Array.of(2))
  queue.end()
  await expect(queue.peek(1)).rejects.toThrow('broken')
  await expect(reader.next()).rejects.toThrow('broken')
  await expect(reader.next()).rejects.toThrow('broken')
  expect(seen.abandoned).toBe(0)
})

test('O2 a reader that waits hears of the end and of the failure', async () => {
  const ended = queueOf(100)
  const last = ended.reader.next()
  ended.queue.end()
  expect(await last).toEqual({ value: undefined, done: true })
  const failed = queueOf(100)
  const broken = failed.reader.next()
  failed.queue.fail(new Error('broken'))
  await expect(broken).rejects.toThrow('broken')
})

test('O2 leaving early is told once, leaving after the end not at all', async () => {
  const early = queueOf(100)
  early.queue.push(Uint8Array.of(1))
  await early.reader.return?.()
  await early.reader.return?.()
  expect(early.seen.abandoned).toBe(1)
  expect(await early.reader.next()).toEqual({ value: undefined, done: true })
  const late = queueOf(100)
  late.queue.end()
  await late.reader.return?.()
  expect(late.seen.abandoned).toBe(0)
})

test('O2 its end is told once, also to those who ask later', () => {
  const { queue } = queueOf(100)
  let told = 0
  queue.whenOver(() => told++)
  queue.end()
  queue.leave()
  queue.fail(new Error('too late'))
  expect(told).toBe(1)
  queue.whenOver(() => told++)
  expect(told).toBe(2)
})
