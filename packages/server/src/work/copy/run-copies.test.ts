import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { connectCounted } from '../../../test/counted-connection.ts'
import { makeFinishedTask } from '../../../test/finished-task.ts'
import { sha256 } from '../../../test/made-bytes.ts'
import { makePicture } from '../../../test/make-picture.ts'
import { type MirrorLab, openMirrorLab } from '../../../test/mirror-lab.ts'
import { sendPicture } from '../../../test/source-server.ts'
import { untracedLines } from '../../../test/untraced-lines.ts'
import { resultKey } from '../../artifacts/result-key.ts'
import type { ObjectStore } from '../../objects/object-store.ts'
import { ObjectStoreError } from '../../objects/object-store-error.ts'
import { findTask } from '../../tasks/find-task.ts'

let lab: MirrorLab
beforeAll(async () => {
  lab = await openMirrorLab()
})
afterEach(() => lab.reset())
afterAll(() => lab.close())

const finish = (urls: string[], options: Partial<Parameters<typeof makeFinishedTask>[1]> = {}) =>
  makeFinishedTask(lab.sql, { provider: 'vendor', urls, ...options })
const untilState = (taskId: string, ...states: string[]) =>
  lab.until(async () => expect((await lab.files(taskId)).map(({ state }) => state)).toEqual(states))
const keyOf = (taskId: string, ordinal = 0) =>
  resultKey({ userId: 'ada', taskId, ordinal, contentType: 'image/png' })

describe('copying results', () => {
  it('tries again when it said it would, also if nobody looks for lost work', async () => {
    const picture = makePicture(1_000)
    const url = lab.source.offer('later.png', (_, response, nth) =>
      nth === 1 ? response.writeHead(503).end() : sendPicture(response, picture),
    )
    // Half of 2 s.
    const taskId = await finish([url])
    lab.start({ idleMs: 60_000, mirror: { leaseMs: 60_000 }, random: () => 0 })
    await lab.until(async () => expect((await lab.files(taskId))[0]).toMatchObject({ attempts: 1 }))
    // Which gives up long before the next look.
    await untilState(taskId, 'stored')
  })

  it('stores every file of a task, with its size, hash and type, and ends its work', async () => {
    const pictures = [makePicture(1_000), makePicture(300_000)]
    const urls = pictures.map((picture, index) => lab.source.offer(`one-${index}.png`, picture))
    const taskId = await finish(urls)
    const { metric } = lab.start()
    await untilState(taskId, 'stored', 'stored')

    for (const [index, picture] of pictures.entries()) {
      const key = keyOf(taskId, index)
      expect((await lab.files(taskId))[index]).toMatchObject({
        objectKey: key,
        bytes: picture.length,
        sha256: sha256(picture),
        contentType: 'image/png',
        problem: null,
      })
      expect(await lab.read(key)).toEqual(picture)
      expect(await lab.store.head(key)).toEqual({ bytes: picture.length, contentType: 'image/png' })
    }
    expect(await lab.work(taskId)).toEqual([])
    expect(await lab.keys()).toEqual([keyOf(taskId, 0), keyOf(taskId, 1)])
    await lab.until(async () => expect(await metric('holdfast_mirrored_files_total')).toBe(2))
    expect(await metric('holdfast_mirrored_bytes_total')).toBe(301_000)
  })

  it('raises the version of the task and gives a hint, so that open tabs get the new URL', async () => {
    const taskId = await finish([lab.source.offer('hint.png')])
    const before = await findTask(lab.sql, 'ada', taskId)
    const { bus } = lab.start()
    let hints = 0
    bus.subscribe('ada', () => hints++)
    await untilState(taskId, 'stored')
    await lab.until(() => expect(hints).toBeGreaterThan(0))
    const after = await findTask(lab.sql, 'ada', taskId)
    expect(after?.version).toBe((before?.version ?? 0) + 1)
    expect(after?.result?.outputs[0]).toMatchObject({ state: 'stored' })
    expect(before?.result?.outputs[0]).toMatchObject({ state: 'remote' })
  })

  it('queues no work where there is no store', async () => {
    const taskId = await finish([lab.source.offer('none.png')], { mirror: false })
    expect(await lab.work(taskId)).toEqual([])
  })

  it('copies so many at once and no more', async () => {
    const tasks = await Promise.all(
      Array.from({ length: 40 }, (_, index) =>
        finish([
          lab.source.offer(`many-${index}.png`, (_request, response) => {
            setTimeout(() => sendPicture(response, makePicture()), 20)
          }),
        ]),
      ),
    )
    lab.start({ mirror: { concurrency: 3 } })
    for (const taskId of tasks) await untilState(taskId, 'stored')
    expect(lab.source.mostAtOnce()).toBe(3)
  })

  it('shares them with other replicas: each file is fetched once', async () => {
    const urls = Array.from({ length: 60 }, (_, index) =>
      lab.source.offer(`shared-${index}.png`, (_request, response) => {
        setTimeout(() => sendPicture(response, makePicture()), 5)
      }),
    )
    const tasks = await Promise.all(urls.map((url) => finish([url])))
    // No claim runs out, however busy the machine is.
    const options = { mirror: { leaseMs: 60_000 } }
    const replicas = [lab.start(options), lab.start(options), lab.start(options)]
    for (const taskId of tasks) await untilState(taskId, 'stored')
    expect(lab.source.asked.filter((path) => path.startsWith('/shared')).length).toBe(60)
    const shares = await Promise.all(
      replicas.map(async ({ metric }) => (await metric('holdfast_mirrored_files_total')) ?? 0),
    )
    expect(shares.filter((share) => share > 0).length).toBeGreaterThan(1)
  })

  it('claims files when there are some, and not again and again, idle or in the middle of one', async () => {
    const { sql, statements } = connectCounted(lab.databaseUrl)
    const isClaim = (statement: string) =>
      statement.includes("w.kind = 'copy'") && statement.includes('skip locked')
    const hold = Promise.withResolvers<void>()
    const taskId = await finish([
      lab.source.offer('counted.png', async (_request, response) => {
        await hold.promise
        sendPicture(response, makePicture())
      }),
    ])
    try {
      lab.start({ sql, idleMs: 20, mirror: { leaseMs: 60_000 } })
      const looks = () => statements.filter((statement) => statement.includes('next where due_at')).length
      const claims = () => statements.filter(isClaim).length
      const lookOften = () => {
        const seen = looks()
        return lab.until(() => expect(looks()).toBeGreaterThan(seen + 4))
      }
      // A look that was under way beside the first claim may still have found the file due.
      await lookOften()
      const whileCopying = claims()
      expect(whileCopying).toBeGreaterThan(0)
      await lookOften()
      expect(claims()).toBe(whileCopying)
      hold.resolve()
      await untilState(taskId, 'stored')
      // Once more when nothing is under way any more.
      await lookOften()
      const whenStored = claims()
      await lookOften()
      expect(claims()).toBe(whenStored)
      expect(whenStored).toBeLessThanOrEqual(whileCopying + 2)
    } finally {
      await lab.stop()
      await sql.end()
    }
  })

  it('keeps a claim while a file takes longer than the claim is good for', async () => {
    const picture = makePicture(200_000)
    const taskId = await finish([
      lab.source.offer('slow.png', (_request, response) => {
        response.writeHead(200, { 'content-length': picture.length })
        // Ten pieces over one and a half leases.
        for (let piece = 0; piece < 10; piece++) {
          setTimeout(
            () => response.write(picture.subarray(piece * 20_000, (piece + 1) * 20_000)),
            piece * 400,
          )
        }
      }),
    ])
    const options = { mirror: { leaseMs: 2_500 } }
    lab.start(options)
    lab.start(options)
    await untilState(taskId, 'stored')
    expect(lab.source.asked).toEqual(['/slow.png'])
    expect(await lab.read(keyOf(taskId))).toEqual(picture)
  })
})

describe('a try that fails', () => {
  it('is counted, kept in words, tried again later and, at the third, told to an operator once', async () => {
    const picture = makePicture()
    const url = lab.source.offer('flaky.png', (_request, response, nth) =>
      nth <= 4 ? response.writeHead(503).end() : sendPicture(response, picture),
    )
    const taskId = await finish([url])
    const { alerts, metric } = lab.start()
    for (let attempt = 1; attempt <= 4; attempt++) {
      await lab.until(async () => expect((await lab.files(taskId))[0]?.attempts).toBe(attempt))
      const [file] = await lab.files(taskId)
      expect(file).toMatchObject({
        state: 'remote',
        lastError: expect.stringContaining('HTTP 503'),
        problem: null,
      })
      const [work] = await lab.work(taskId)
      expect(work?.attempts).toBe(attempt)
      // Half of 2, 4, 8, 16 s without the part left to chance, less what has passed since.
      expect(work?.dueMs).toBeGreaterThan(2 ** attempt * 500 - 500)
      expect(work?.dueMs).toBeLessThanOrEqual(2 ** attempt * 500)
      await lab.until(() => expect(alerts.length).toBe(attempt < 3 ? 0 : 1))
      await lab.tryNow(taskId)
    }
    await untilState(taskId, 'stored')
    expect(alerts).toMatchObject([
      { name: 'result-not-copied', level: 'critical', details: { taskId, ordinal: 0, attempts: 3 } },
    ])
    expect(await metric('holdfast_mirror_failures_total', 'code="STATUS"')).toBe(4)
    expect(await findTask(lab.sql, 'ada', taskId)).toMatchObject({ status: 'completed' })
  })

  it('leaves nothing in the store when the transfer breaks off', async () => {
    const picture = makePicture(100_000)
    const url = lab.source.offer('cut.png', (_request, response, nth) => {
      if (nth > 1) return sendPicture(response, picture)
      response.writeHead(200, { 'content-length': picture.length })
      response.write(picture.subarray(0, 50_000), () => response.destroy())
    })
    const taskId = await finish([url])
    lab.start()
    await lab.until(async () => expect((await lab.work(taskId))[0]?.attempts).toBe(1))
    expect(await lab.keys()).toEqual([])
    await lab.tryNow(taskId)
    await untilState(taskId, 'stored')
    expect(await lab.read(keyOf(taskId))).toEqual(picture)
  })

  it.each([
    ['too large', { maxBytes: 1_000 }, 'TOO_LARGE', /too large/],
    ['at an address that is not fetched from', { allowLoopback: false }, 'SCHEME', /could not be copied/],
  ])('stays remote with a reason for the user when it is %s', async (_, mirror, code, words) => {
    const taskId = await finish([lab.source.offer('large.png', makePicture(5_000))], { lifetimeMs: 60_000 })
    const { alerts, bus } = lab.start({ mirror })
    let hints = 0
    bus.subscribe('ada', () => hints++)
    await lab.until(async () => expect((await lab.files(taskId))[0]?.problem).toMatch(words))
    expect((await lab.files(taskId))[0]).toMatchObject({
      state: 'remote',
      lastError: expect.stringContaining(code),
    })
    await lab.until(() => expect(alerts).toHaveLength(1))
    expect(hints).toBeGreaterThan(0)
    const task = await findTask(lab.sql, 'ada', taskId)
    expect(task?.result?.outputs[0]).toMatchObject({
      state: 'remote',
      url: expect.stringContaining('large.png'),
    })
    expect(await lab.keys()).toEqual([])

    // What is left to do waits for the death of the source, and says so then.
    const [work] = await lab.work(taskId)
    expect(work?.dueMs).toBeCloseTo(work?.neededMs ?? 0, -1)
    await lab.tryNow(taskId)
    await untilState(taskId, 'expired')
    expect(await lab.work(taskId)).toEqual([])
    expect(alerts).toHaveLength(1)
  })

  it('is given up after three times something else than a file, as a proxy may show its page for a while', async () => {
    const taskId = await finish([
      lab.source.offer('page.png', (_request, response) =>
        response.writeHead(200, { 'content-type': 'text/html', 'content-length': 15 }).end('<html>Oh</html>'),
      ),
    ])
    lab.start()
    for (let attempt = 1; attempt <= 2; attempt++) {
      await lab.until(async () => expect((await lab.work(taskId))[0]?.attempts).toBe(attempt))
      expect((await lab.files(taskId))[0]?.problem).toBeNull()
      await lab.tryNow(taskId)
    }
    await lab.until(async () => expect((await lab.files(taskId))[0]?.problem).toMatch(/something else/))
  })
})

describe('a source that died', () => {
  const dead = (name: string) =>
    lab.source.offer(name, (_request, response) => void response.writeHead(403).end('expired'))

  it('is expired at once when its time is over, and the user is told', async () => {
    const taskId = await finish([dead('dead.png')], { lifetimeMs: 1 })
    const { alerts } = lab.start()
    await untilState(taskId, 'expired')
    expect((await lab.files(taskId))[0]?.problem).toMatch(/removed this file/)
    expect(await lab.work(taskId)).toEqual([])
    await lab.until(() => expect(alerts).toHaveLength(1))
    const task = await findTask(lab.sql, 'ada', taskId)
    expect(task).toMatchObject({
      status: 'completed',
      result: { outputs: [{ state: 'expired', url: null, urlExpiresAt: null }] },
    })
  })

  it('is believed only after three tries while it should still be there: it may not be there yet', async () => {
    const picture = makePicture()
    const late = lab.source.offer('late.png', (_request, response, nth) =>
      nth < 3 ? response.writeHead(404).end() : sendPicture(response, picture),
    )
    const [lateTask, deadTask] = [await finish([late]), await finish([dead('never.png')])]
    lab.start()
    for (let attempt = 1; attempt <= 2; attempt++) {
      for (const taskId of [lateTask, deadTask]) {
        await lab.until(async () => expect((await lab.files(taskId))[0]?.attempts).toBe(attempt))
      }
      for (const taskId of [lateTask, deadTask]) await lab.tryNow(taskId)
    }
    await untilState(lateTask, 'stored')
    await untilState(deadTask, 'expired')
  })

  it('is refreshed where the provider can, always by its first URL, and shown to the user', async () => {
    const picture = makePicture()
    const fresh = lab.source.offer('fresh.png', (_request, response, nth) =>
      nth === 1 ? response.writeHead(503).end() : sendPicture(response, picture),
    )
    const first = dead('first.png')
    const asked: unknown[] = []
    const refresh = async (file: unknown) => {
      asked.push(file)
      return { kind: 'refreshed' as const, url: fresh, urlLifetimeMs: 600_000 }
    }
    const taskId = await finish([first], { lifetimeMs: 1 })
    lab.start({ provider: { refresh } })
    // The fresh one failed in passing: its URL and its time are kept.
    await lab.until(async () => expect((await lab.files(taskId))[0]?.attempts).toBe(1))
    expect((await lab.files(taskId))[0]).toMatchObject({ state: 'remote', sourceUrl: fresh })
    expect((await lab.work(taskId))[0]?.neededMs).toBeGreaterThan(500_000)
    expect((await findTask(lab.sql, 'ada', taskId))?.result?.outputs[0]?.url).toBe(fresh)
    await lab.tryNow(taskId)
    await untilState(taskId, 'stored')
    expect(asked).toEqual([{ externalId: `external-${taskId}`, url: first, ordinal: 0 }])
    expect(await lab.read(keyOf(taskId))).toEqual(picture)
  })

  it('is asked for by the first URL again when the fresh one died too, and given up when both are dead thrice', async () => {
    const [first, second] = [dead('first-2.png'), dead('second-2.png')]
    const asked: string[] = []
    const refresh = async ({ url }: { url: string }) => {
      asked.push(url)
      return { kind: 'refreshed' as const, url: second, urlLifetimeMs: 600_000 }
    }
    const taskId = await finish([first], { lifetimeMs: 1 })
    lab.start({ provider: { refresh } })
    for (let attempt = 1; attempt <= 2; attempt++) {
      await lab.until(async () => expect((await lab.files(taskId))[0]?.attempts).toBe(attempt))
      await lab.tryNow(taskId)
    }
    await untilState(taskId, 'expired')
    expect(asked).toEqual([first, first, first])
  })

  it.each([
    ['gone', { kind: 'gone', reason: 'removed' }, 'expired'],
    ['inconclusive', { kind: 'inconclusive', reason: 'HTTP 500' }, 'remote'],
  ] as const)('with a refresh that says %s', async (_, outcome, state) => {
    const taskId = await finish([dead(`${outcome.kind}.png`)], { lifetimeMs: 1 })
    lab.start({ provider: { refresh: async () => outcome } })
    await lab.until(async () => expect((await lab.files(taskId))[0]?.attempts).toBe(1))
    await untilState(taskId, state)
    expect((await lab.work(taskId)).length).toBe(state === 'remote' ? 1 : 0)
  })

  it('is not believed to be dead by the clock alone: as long as it gives the file out it is copied', async () => {
    const taskId = await finish([lab.source.offer('old.png')], { lifetimeMs: 1 })
    lab.start()
    await untilState(taskId, 'stored')
  })
})

describe('a store that is away', () => {
  function brokenStore() {
    const broken = { puts: 0, isAway: true }
    const objects: ObjectStore = {
      ...lab.store,
      async put(key, body, options) {
        broken.puts++
        if (broken.isAway) throw Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })
        return lab.store.put(key, body, options)
      },
    }
    return { broken, objects }
  }

  it('opens a circuit: a thousand files do not burn their tries, and all are copied when it is back', async () => {
    const url = lab.source.offer('waiting.png')
    const taskId = await finish(Array.from({ length: 300 }, () => url))
    const { broken, objects } = brokenStore()
    const { metric } = lab.start({ objects })
    await lab.until(async () => expect(await metric('holdfast_circuit', 'object-store')).toBe(2))
    await lab.until(async () =>
      expect((await lab.files(taskId)).filter(({ attempts }) => attempts > 0).length).toBeGreaterThan(3),
    )
    // What was being copied, and a few; each of the 300 would have been tried by now without a circuit.
    expect(broken.puts).toBeLessThan(25)
    expect((await lab.files(taskId)).every(({ state }) => state === 'remote')).toBe(true)
    expect((await lab.files(taskId)).find(({ attempts }) => attempts > 0)?.lastError).toBe(
      'store: ECONNREFUSED: connect ECONNREFUSED',
    )
    broken.isAway = false
    await lab.until(async () => {
      await lab.tryNow(taskId)
      expect((await lab.files(taskId)).every(({ state }) => state === 'stored')).toBe(true)
    })
    expect(await metric('holdfast_circuit', 'object-store')).toBe(0)
  })

  it('that refuses one file takes the others: no circuit opens, and the file is not tried for ever', async () => {
    // More than would open a circuit.
    const refused = await finish(Array.from({ length: 30 }, () => lab.source.offer('huge.png')))
    const objects: ObjectStore = {
      ...lab.store,
      async put(key, body, options) {
        if (key.includes(refused)) throw new ObjectStoreError('STORE_REFUSED', 'too large for this bucket')
        return lab.store.put(key, body, options)
      },
    }
    const { metric } = lab.start({ objects })
    for (let attempt = 1; attempt <= 3; attempt++) {
      const tried = Array(30).fill(attempt)
      await lab.until(async () =>
        expect((await lab.files(refused)).map(({ attempts }) => attempts)).toEqual(tried),
      )
      if (attempt < 3) await lab.tryNow(refused)
    }
    const [file] = await lab.files(refused)
    expect(file?.lastError).toBe('store: STORE_REFUSED: too large for this bucket')
    expect(file?.problem).toContain('Download it from its present link')
    const taken = await finish([lab.source.offer('fine.png')])
    await untilState(taken, 'stored')
    expect(await metric('holdfast_circuit', 'object-store')).toBe(0)
  })

  it('may say anything: what it says is kept in one line that can be stored', async () => {
    const taskId = await finish([lab.source.offer('odd.png')])
    const put = async () => {
      throw Object.assign(new Error('<Error>\u0000\n\ud800 no'), { code: 'Odd\u0000' })
    }
    lab.start({ objects: { ...lab.store, put } })
    await lab.until(async () => expect((await lab.files(taskId))[0]?.attempts).toBe(1))
    expect((await lab.files(taskId))[0]?.lastError).toBe('store: Odd : <Error> no')
  })

  it('breaks in a way that nobody foresaw: logged with the trace of the task', async () => {
    const taskId = await finish([lab.source.offer('ended.png')])
    await lab.sql`update holdfast.artifacts set state = 'deleted' where task_id = ${taskId}`
    const broken = async () => {
      throw new Error('a bug')
    }
    const { logLines } = lab.start({ objects: { ...lab.store, delete: broken } })
    await lab.until(() => expect(logLines.join('')).toContain('a step could not be finished'))
    expect(untracedLines(logLines)).toEqual([])
  })

  it('does not end a file whose time is over, as long as its source gives it out', async () => {
    const taskId = await finish([lab.source.offer('patient.png')], { lifetimeMs: 1 })
    const { broken, objects } = brokenStore()
    const { alerts } = lab.start({ objects })
    for (let attempt = 1; attempt <= 3; attempt++) {
      await lab.until(async () => {
        if ((await lab.files(taskId))[0]?.attempts !== attempt) await lab.tryNow(taskId)
        expect((await lab.files(taskId))[0]?.attempts).toBe(attempt)
      })
    }
    expect((await lab.files(taskId))[0]?.state).toBe('remote')
    expect(alerts).toHaveLength(1)
    broken.isAway = false
    await lab.until(async () => {
      await lab.tryNow(taskId)
      expect((await lab.files(taskId))[0]?.state).toBe('stored')
    })
  })
})
