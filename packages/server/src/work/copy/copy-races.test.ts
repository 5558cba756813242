import fc from 'fast-check'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { startCuttableProxy } from '../../../test/cuttable-proxy.ts'
import { makeFinishedTask } from '../../../test/finished-task.ts'
import { sha256 } from '../../../test/made-bytes.ts'
import { makePicture } from '../../../test/make-picture.ts'
import { type MirrorLab, openMirrorLab } from '../../../test/mirror-lab.ts'
import { untold } from '../../../test/record-notices.ts'
import { sendPicture } from '../../../test/source-server.ts'
import { createSweepContext } from '../../../test/sweep-context.ts'
import { resultKey } from '../../artifacts/result-key.ts'
import { connect } from '../../database/connect.ts'
import type { ObjectStore } from '../../objects/object-store.ts'
import { sweepExpiredFiles } from '../../sweeps/sweep-expired-files.ts'
import { findTask } from '../../tasks/find-task.ts'
import { writeExpired, writeGivenUp, writeRefresh } from './copy-writes.ts'
import { markStored } from './mark-stored.ts'

let lab: MirrorLab
beforeAll(async () => {
  lab = await openMirrorLab()
})
afterEach(() => lab.reset())
afterAll(() => lab.close())

const keyOf = (taskId: string, ordinal = 0) =>
  resultKey({ userId: 'ada', taskId, ordinal, contentType: 'image/png' })

/** A task whose file comes when it is told to. `begun` resolves when its bytes begin to move. */
async function gatedTask(name: string, picture = makePicture(100_000)) {
  const begun = Promise.withResolvers<void>()
  const gate = Promise.withResolvers<void>()
  let isCutOff = false
  const url = lab.source.offer(name, async (_request, response, nth) => {
    if (nth > 1) return sendPicture(response, picture)
    response.once('close', () => {
      isCutOff = !response.writableFinished
    })
    response.writeHead(200, { 'content-length': picture.length })
    response.write(picture.subarray(0, 50_000), () => begun.resolve())
    await gate.promise
    response.end(picture.subarray(50_000))
  })
  const taskId = await makeFinishedTask(lab.sql, { provider: 'vendor', urls: [url] })
  return { taskId, picture, begun: begun.promise, release: gate.resolve, isCutOff: () => isCutOff }
}

async function* bodyOf(bytes: Uint8Array) {
  yield bytes
}

/** Long enough that nobody is told in time of a claim that was lost. */
const paused = { mirror: { leaseMs: 120_000 } }

describe('a file that is not wanted any more when it has been copied', () => {
  it('is removed again: its time was over', async () => {
    const { taskId, begun, release } = await gatedTask('swept.png')
    const { logLines } = lab.start(paused)
    await begun
    await lab.sql`delete from holdfast.work where task_id = ${taskId} and kind = 'copy'`
    await lab.sql`update holdfast.artifacts set state = 'expired' where task_id = ${taskId}`
    release()
    await lab.until(() => expect(logLines.join('')).toContain('not wanted any more'))
    await lab.until(async () => expect(await lab.keys()).toEqual([]))
    expect((await lab.files(taskId))[0]).toMatchObject({ state: 'expired', objectKey: null })
  })

  it('is removed again: its task was', async () => {
    const { taskId, begun, release } = await gatedTask('gone.png')
    const { logLines } = lab.start(paused)
    await begun
    await lab.sql`delete from holdfast.tasks where id = ${taskId}`
    release()
    await lab.until(() => expect(logLines.join('')).toContain('not wanted any more'))
    await lab.until(async () => expect(await lab.keys()).toEqual([]))
  })

  it('is removed by whoever finds its work, if the one who copied it died at that moment', async () => {
    const taskId = await makeFinishedTask(lab.sql, {
      provider: 'vendor',
      urls: [lab.source.offer('left.png')],
    })
    await lab.store.put(keyOf(taskId), bodyOf(makePicture()), { contentType: 'image/png' })
    await lab.sql`update holdfast.artifacts set state = 'deleted' where task_id = ${taskId}`
    lab.start()
    await lab.until(async () => expect(await lab.work(taskId)).toEqual([]))
    expect(await lab.keys()).toEqual([])
    expect(lab.source.asked).toEqual([])
  })
})

describe('a claim that was lost', () => {
  it('ends the transfer as soon as it is found out', async () => {
    const { taskId, begun, isCutOff } = await gatedTask('lost.png')
    lab.start()
    await begun
    // Somebody else has it, and will not come back.
    await lab.sql`
      update holdfast.work set epoch = epoch + 1, due_at = now() + interval '1 h' where task_id = ${taskId}
    `
    await lab.until(() => expect(isCutOff()).toBe(true))
    await lab.until(async () => expect(await lab.keys()).toEqual([]))
    expect((await lab.work(taskId))[0]).toMatchObject({ attempts: 0, epoch: 2 })
    expect((await lab.files(taskId))[0]).toMatchObject({ state: 'remote', attempts: 0 })
  })

  it('changes nothing of what the one who took it over has written, and leaves its object', async () => {
    const { taskId, picture, begun, release } = await gatedTask('taken.png')
    const put = Promise.withResolvers<void>()
    const objects: ObjectStore = {
      ...lab.store,
      put: (...args) => lab.store.put(...args).finally(put.resolve),
    }
    const { engine } = lab.start({ ...paused, objects })
    await begun
    const [work] = await lab.sql<[{ id: string; epoch: number; artifactId: string }]>`
      update holdfast.work w set epoch = w.epoch + 1 from holdfast.artifacts a
      where w.task_id = ${taskId} and a.task_id = w.task_id returning w.id::text, w.epoch, a.id as "artifactId"
    `
    const key = keyOf(taskId)
    await lab.store.put(key, bodyOf(picture), { contentType: 'image/png' })
    const file = { bytes: picture.length, sha256: sha256(picture), contentType: 'image/png' }
    const claim = { taskId, ordinal: 0, workId: work.id, epoch: work.epoch, artifactId: work.artifactId, key }
    expect(await markStored(lab.sql, [{ ...claim, ...file }], 'wait')).toEqual([true])
    const after = await findTask(lab.sql, 'ada', taskId)

    release()
    await put.promise
    // Sees through what there is to do after it.
    await engine.stop()
    expect(await lab.read(key)).toEqual(picture)
    expect(await findTask(lab.sql, 'ada', taskId)).toEqual(after)
    // Nor can it be written twice, by whoever.
    expect(await markStored(lab.sql, [{ ...claim, ...file }], 'wait')).toEqual([false])
  })
})

describe('what is written about a file', () => {
  type Claim = Parameters<typeof writeExpired>[1]
  interface Written extends Claim {
    artifactId: string
  }
  const file = { key: 'results/x', bytes: 1, sha256: 'a'.repeat(64), contentType: 'image/png' }

  it.each<[string, (claim: Written) => Promise<unknown>]>([
    ['stored', (claim) => markStored(lab.sql, [{ ...claim, ...file }], 'wait')],
    [
      'a new link',
      (claim) => writeRefresh(untold(lab.sql), claim, { url: 'https://p.example/2', lifetimeMs: 60_000 }),
    ],
    ['given up', (claim) => writeGivenUp(untold(lab.sql), claim, { error: 'x', problem: 'x' })],
    ['expired', (claim) => writeExpired(untold(lab.sql), claim, { error: 'x', problem: 'x', lost: null })],
    ['its time is over', () => sweepExpiredFiles({ ...createSweepContext(lab.sql), objects: lab.store })],
  ])('locks the task before the file, as a save does: %s', async (_, write) => {
    const taskId = await makeFinishedTask(lab.sql, { provider: 'vendor', urls: ['https://p.example/1'] })
    await lab.sql`update holdfast.artifacts set expires_at = now() where task_id = ${taskId}`
    const [claim] = await lab.sql<[{ workId: string; epoch: number; artifactId: string }]>`
      select w.id::text as "workId", w.epoch, a.id as "artifactId"
      from holdfast.work w join holdfast.artifacts a on a.task_id = w.task_id where w.task_id = ${taskId}
    `
    let writing: Promise<unknown> = Promise.resolve()
    await lab.sql.begin(async (saving) => {
      await saving`select from holdfast.tasks where id = ${taskId} for update`
      writing = write({ taskId, ordinal: 0, ...claim })
      await lab.until(async () =>
        expect(
          await lab.sql`
            select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
          `,
        ).toHaveLength(1),
      )
      await saving`select from holdfast.artifacts where task_id = ${taskId} for update nowait`
    })
    await writing
  })
})

describe('stopping', () => {
  it('hands files back at once without counting a try, and another replica copies them', async () => {
    const { taskId, picture, begun, isCutOff } = await gatedTask('stopped.png')
    const first = lab.start(paused)
    await begun
    await first.engine.stop()
    expect((await lab.work(taskId))[0]).toMatchObject({ attempts: 0 })
    expect((await lab.work(taskId))[0]?.dueMs).toBeLessThanOrEqual(0)
    await lab.until(() => expect(isCutOff()).toBe(true))
    expect(await lab.keys()).toEqual([])
    lab.start()
    await lab.until(async () => expect((await lab.files(taskId))[0]?.state).toBe('stored'))
    expect(await lab.read(keyOf(taskId))).toEqual(picture)
  })
})

describe('a database that is away', () => {
  it('is waited for: what was copied is written down when it is back, and not copied again', async () => {
    const proxy = await startCuttableProxy(lab.databaseUrl)
    const sql = connect(proxy.url)
    try {
      const { taskId, begun, release } = await gatedTask('away.png')
      const { logLines } = lab.start({ ...paused, sql })
      await begun
      await proxy.cut()
      release()
      await lab.until(() => expect(logLines.join('')).toContain('holding on to an answer'))
      expect((await lab.files(taskId))[0]?.state).toBe('remote')
      await proxy.mend()
      await lab.until(async () => expect((await lab.files(taskId))[0]?.state).toBe('stored'))
      expect(lab.source.asked).toEqual(['/away.png'])
    } finally {
      await lab.reset()
      await sql.end({ timeout: 1 })
      await proxy.close()
    }
  })
})

describe('replicas that lose claims, sources that fail, stops at any time', () => {
  it('leave each file stored once, with its own bytes, and nothing else in the store', async () => {
    let round = 0
    await fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.record({ slowMs: fc.integer({ min: 0, max: 150 }), fails: fc.integer({ min: 0, max: 2 }) }),
          {
            minLength: 6,
            maxLength: 14,
          },
        ),
        fc.array(fc.integer({ min: 0, max: 200 }), { minLength: 1, maxLength: 3 }),
        async (files, stops) => {
          round += 1
          const pictures = files.map((_, index) => makePicture(20_000 + index))
          const urls = files.map(({ slowMs, fails }, index) =>
            lab.source.offer(`chaos-${round}-${index}.png`, (_request, response, nth) => {
              setTimeout(() => {
                if (nth <= fails) return void response.destroy()
                sendPicture(response, pictures[index] ?? makePicture())
              }, slowMs)
            }),
          )
          const taskId = await makeFinishedTask(lab.sql, { provider: 'vendor', urls })
          // A lease shorter than a transfer takes: claims are lost all the time.
          const options = { mirror: { leaseMs: 60, concurrency: 4 } }
          lab.start(options)
          for (const ms of stops) {
            const { engine } = lab.start(options)
            await new Promise((resolve) => setTimeout(resolve, ms))
            await engine.stop()
          }
          await lab.until(async () => {
            await lab.tryNow(taskId)
            const states = (await lab.files(taskId)).map(({ state }) => state)
            expect(states.every((state) => state === 'stored')).toBe(true)
          })
          await lab.stop()
          const stored = await lab.files(taskId)
          expect(stored.map((file) => file.sha256)).toEqual(pictures.map(sha256))
          for (const [index, picture] of pictures.entries()) {
            expect(await lab.read(keyOf(taskId, index))).toEqual(picture)
          }
          expect(await lab.keys()).toEqual(stored.map(({ objectKey }) => objectKey).sort())
          expect(await lab.work(taskId)).toEqual([])
          expect(await findTask(lab.sql, 'ada', taskId)).toMatchObject({ status: 'completed' })
          await lab.reset()
        },
      ),
      { numRuns: 6 },
    )
  }, 60_000)
})
