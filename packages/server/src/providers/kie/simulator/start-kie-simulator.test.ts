import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer, request as httpRequest, type IncomingHttpHeaders } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { signKieCallback } from '../../webhook-signatures/kie-hmac.ts'
import { BEHAVIOURS, readBehaviours, withoutBehaviours } from './behaviours.ts'
import { type KieSimulatorOptions, startKieSimulator } from './start-kie-simulator.ts'

const cleanups: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const clean of cleanups.splice(0).reverse()) await clean()
})

/** A busy machine may take its time. */
const patiently = { timeout: 15_000 }

interface Envelope {
  code: number
  msg: string
  data: Record<string, unknown> | null
}

async function start(options: KieSimulatorOptions = {}) {
  const clock = { now: Date.parse('2026-11-16T08:00:00Z') }
  const simulator = await startKieSimulator({ now: () => clock.now, random: () => 0.5, ...options })
  cleanups.push(() => simulator.close())
  const call = async (method: string, path: string, body?: unknown) => {
    const response = await fetch(`${simulator.url}${path}`, {
      method,
      headers: { authorization: 'Bearer any', 'content-type': 'application/json' },
      body: body === undefined ? undefined : JSON.stringify(body),
    })
    return { status: response.status, ...((await response.json()) as Envelope) }
  }
  const create = async (prompt: string, extra: Record<string, unknown> = {}, input = {}) => {
    const body = { model: 'google/nano-banana', input: { prompt, ...input }, ...extra }
    const { data } = await call('POST', '/api/v1/jobs/createTask', body)
    return String(data?.taskId)
  }
  const record = async (id: string) => {
    const { data } = await call('GET', `/api/v1/jobs/recordInfo?taskId=${id}`)
    return data ?? {}
  }
  const urlsOf = async (id: string): Promise<string[]> =>
    JSON.parse(String((await record(id)).resultJson)).resultUrls
  return { clock, simulator, call, create, record, urlsOf }
}

test('the record has the documented fields, with JSON inside strings and times in ms', async () => {
  const { clock, create, record, simulator } = await start()
  const id = await create('a cat')
  expect(id).toMatch(/^task_google-nano-banana_\d{13}[0-9a-f]{8}$/)
  const createTime = clock.now
  const states: unknown[] = []
  for (const age of [0, 1_000, 4_000]) {
    clock.now = createTime + age
    states.push((await record(id)).state)
  }
  expect(states).toEqual(['waiting', 'queuing', 'generating'])
  expect(await record(id)).toMatchObject({ resultJson: '', completeTime: null, creditsConsumed: 4 })

  clock.now = createTime + 60_000
  expect(await record(id)).toEqual({
    taskId: id,
    model: 'google/nano-banana',
    state: 'success',
    param: '{"model":"google/nano-banana","input":{"prompt":"a cat"}}',
    resultJson: JSON.stringify({
      resultUrls: [`${simulator.url}/files/${id}/0.png?expires=${createTime + 8_000 + 1_200_000}`],
    }),
    failCode: '',
    failMsg: '',
    costTime: 8_000,
    createTime,
    updateTime: createTime + 8_000,
    completeTime: createTime + 8_000,
    creditsConsumed: 4,
  })
})

test('a failure has a code and words, and costs nothing', async () => {
  const { clock, create, record } = await start()
  const id = await create('a cat [fail]')
  clock.now += 60_000
  expect(await record(id)).toMatchObject({
    state: 'fail',
    failCode: '500',
    failMsg: 'Internal error, please try again later.',
    resultJson: '',
    creditsConsumed: 0,
  })
})

test('videos take longer than pictures, slow ones longer, fast ones shorter, stuck ones for ever', async () => {
  const { clock, create, record } = await start()
  const video = { model: 'sora-2-text-to-video' }
  const ids = {
    image: await create('x'),
    fast: await create('x [fast]'),
    slow: await create('x [slow]'),
    video: await create('x', video),
    stuck: await create('x [stuck]'),
  }
  const done = async (afterMs: number) => {
    clock.now += afterMs
    const states = await Promise.all(
      Object.entries(ids).map(async ([name, id]) => [name, (await record(id)).state]),
    )
    return states.filter(([, state]) => state === 'success').map(([name]) => name)
  }
  expect(await done(1_000)).toEqual(['fast'])
  expect(await done(7_500)).toEqual(['image', 'fast'])
  expect(await done(17_500)).toEqual(['image', 'fast', 'video'])
  expect(await done(20_000)).toEqual(['image', 'fast', 'slow', 'video'])
  expect(await done(86_400_000)).toEqual(['image', 'fast', 'slow', 'video'])
})

test('speed makes everything faster', async () => {
  const { clock, create, record } = await start({ speed: 20 })
  const id = await create('a cat')
  clock.now += 400
  expect(await record(id)).toMatchObject({ state: 'success' })
})

test('progress is for sora models only, unless asked for', async () => {
  const plain = await start()
  expect(await plain.record(await plain.create('x'))).not.toHaveProperty('progress')
  expect(await plain.record(await plain.create('x [progress]'))).toHaveProperty('progress', 0)
  expect(await plain.record(await plain.create('x', { model: 'sora-2-text-to-video' }))).toHaveProperty(
    'progress',
  )
  const all = await start({ progressForAll: true })
  expect(await all.record(await all.create('x'))).toHaveProperty('progress')
})

test.each([
  ['http', 401],
  ['envelope', 200],
] as const)('errors as %s: a wrong key is code 401 in HTTP %i', async (errorStyle, expected) => {
  const { call } = await start({ apiKey: 'right', errorStyle })
  expect(await call('GET', '/api/v1/chat/credit')).toMatchObject({ status: expected, code: 401, data: null })
})

test('a request without a User-Agent is turned away as by a proxy', async () => {
  const { simulator } = await start()
  const status = await new Promise((resolve, reject) => {
    httpRequest(
      `${simulator.url}/api/v1/chat/credit`,
      { headers: { authorization: 'Bearer x' } },
      (response) => {
        response.resume()
        resolve(response.statusCode)
      },
    )
      .on('error', reject)
      .end()
  })
  expect(status).toBe(403)
})

test.each([
  ['without a model', { input: { prompt: 'x' } }, 500],
  ['without input', { model: 'm' }, 422],
  ['without a prompt', { model: 'm', input: {} }, 422],
  ['that is no object', [], 400],
  ['that is too large', { model: 'm', input: { prompt: 'x'.repeat(1_100_000) } }, 413],
])('a create %s is refused', async (_name, body, code) => {
  const { call, simulator } = await start()
  expect(await call('POST', '/api/v1/jobs/createTask', body)).toMatchObject({ code })
  expect(simulator.creates()).toBe(0)
})

test('queries want an id, and unknown routes are 404', async () => {
  const { call } = await start()
  expect(await call('GET', '/api/v1/jobs/recordInfo')).toMatchObject({ code: 400 })
  expect(await call('GET', '/api/v1/jobs/recordInfo?taskId=x')).toMatchObject({
    code: 422,
    msg: 'recordInfo is null',
    data: null,
  })
  expect(await call('GET', '/api/v1/elsewhere')).toMatchObject({ status: 404, code: 404 })
})

test('only bracketed words do anything', () => {
  const words = Object.keys(BEHAVIOURS)
  expect(readBehaviours(words.join(' '))).toEqual({})
  expect(readBehaviours('[nonsense] [toString] [fail ] [ fail]')).toEqual({})
  expect(Object.keys(readBehaviours(words.map((word) => `[${word}]`).join(''))).toSorted()).toEqual(
    words.toSorted(),
  )
  expect(readBehaviours('a [Slow] cat [500:7]')).toEqual({ slow: null, '500': 7 })
  expect(withoutBehaviours('a [slow] cat [500:7] [sic]')).toBe('a cat [sic]')
})

test('a script applies to the next create only', async () => {
  const { simulator, create } = await start()
  simulator.script('refuse')
  expect(await create('a cat')).toBe('undefined')
  expect(await create('a cat')).toMatch(/^task_/)
})

test('finish ends a task now', async () => {
  const { simulator, create, record } = await start()
  const id = await create('a cat [stuck]')
  simulator.finish(id)
  expect(await record(id)).toMatchObject({ state: 'success' })
  expect(() => simulator.finish('nobody')).toThrow('has no task nobody')
})

test('the log names what was asked, and the task where there is one', async () => {
  const { clock, simulator, create, record } = await start()
  const id = await create('a cat')
  await record(id)
  const shared = { taskId: id, userAgent: 'node', at: clock.now }
  expect(simulator.log).toEqual([
    { ...shared, method: 'POST', path: '/api/v1/jobs/createTask', search: '' },
    { ...shared, method: 'GET', path: '/api/v1/jobs/recordInfo', search: `?taskId=${id}` },
  ])
})

test('credits go down with what was made', async () => {
  const { create, call } = await start()
  const before = await call('GET', '/api/v1/chat/credit')
  await create('a cat')
  const after = await call('GET', '/api/v1/chat/credit')
  expect(Number(before.data) - Number(after.data)).toBe(4)
})

test.each([
  ['', 768, 768],
  ['16:9', 1024, 576],
  ['9:16', 576, 1024],
  ['odd', 768, 768],
])('a picture for aspect ratio %j is a PNG of %i × %i', async (aspect_ratio, width, height) => {
  const { clock, create, urlsOf } = await start()
  const id = await create('a cat', {}, { aspect_ratio })
  clock.now += 60_000
  const response = await fetch((await urlsOf(id))[0] ?? '')
  expect(response.headers.get('content-type')).toBe('image/png')
  const bytes = Buffer.from(await response.arrayBuffer())
  expect(bytes.subarray(0, 8)).toEqual(Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'))
  expect([bytes.readUInt32BE(16), bytes.readUInt32BE(20)]).toEqual([width, height])
})

test('the same prompt is the same picture, after a restart too; another is another', async () => {
  const picture = async (prompt: string) => {
    const { clock, create, urlsOf } = await start()
    const id = await create(prompt)
    clock.now += 60_000
    return Buffer.from(await (await fetch((await urlsOf(id))[0] ?? '')).arrayBuffer())
  }
  const cat = await picture('a cat')
  expect((await picture('a cat [fast]')).equals(cat)).toBe(true)
  expect((await picture('a dog')).equals(cat)).toBe(false)
})

test.each(['misty mountains', 'a boat on the sea', 'a city at night'])(
  'the clip for %j is an MP4 that can be read in ranges',
  async (prompt) => {
    const { clock, create, urlsOf } = await start()
    const id = await create(prompt, { model: 'sora-2-text-to-video' })
    clock.now += 60_000
    const url = (await urlsOf(id))[0] ?? ''
    expect(url).toContain('.mp4?')
    const whole = await fetch(url)
    expect(whole.headers.get('content-type')).toBe('video/mp4')
    const bytes = Buffer.from(await whole.arrayBuffer())
    expect(bytes.subarray(4, 8).toString()).toBe('ftyp')
    // Playable before it is whole: the index comes before the frames.
    expect(bytes.indexOf('moov')).toBeLessThan(bytes.indexOf('mdat'))
    expect(bytes.length).toBeLessThan(150_000)

    const size = bytes.length
    const range = async (value: string) => {
      const response = await fetch(url, { headers: { range: value } })
      return {
        status: response.status,
        range: response.headers.get('content-range'),
        body: Buffer.from(await response.arrayBuffer()),
      }
    }
    expect(await range('bytes=4-7')).toEqual({
      status: 206,
      range: `bytes 4-7/${size}`,
      body: Buffer.from('ftyp'),
    })
    expect(await range('bytes=100-')).toMatchObject({ status: 206, body: bytes.subarray(100) })
    expect(await range('bytes=-10')).toMatchObject({ status: 206, body: bytes.subarray(-10) })
    expect(await range(`bytes=${size}-`)).toMatchObject({ status: 416, range: `bytes */${size}` })
    expect(await range('bytes=0-1,4-5')).toMatchObject({ status: 200 })

    const head = await fetch(url, { method: 'HEAD' })
    expect(head.headers.get('content-length')).toBe(String(size))
  },
)

test('files need a finished task, the right name, and a link that has not expired', async () => {
  const { clock, simulator, create, urlsOf } = await start({ fileTtlMs: 60_000 })
  const id = await create('a cat [fast]')
  const early = await fetch(`${simulator.url}/files/${id}/0.png?expires=${clock.now + 1_000_000}`)
  expect(early.status).toBe(404)
  clock.now += 1_000
  const url = (await urlsOf(id))[0] ?? ''
  expect((await fetch(url)).status).toBe(200)
  expect((await fetch(url.replace('0.png', '1.png'))).status).toBe(404)
  expect((await fetch(url.replace('0.png', '0.mp4'))).status).toBe(404)
  expect((await fetch(url.replace(/\?.*/, ''))).status).toBe(403)
  clock.now += 60_000
  expect((await fetch(url)).status).toBe(403)
})

test('an expired link is renewed for 20 minutes, but only our own', async () => {
  const { clock, call, create, urlsOf } = await start({ fileTtlMs: 1_000 })
  const id = await create('a cat [fast]')
  clock.now += 60_000
  const url = (await urlsOf(id))[0] ?? ''
  const renewed = await call('POST', '/api/v1/common/download-url', { url })
  const fresh = String(renewed.data)
  clock.now += 1_199_000
  expect((await fetch(fresh)).status).toBe(200)
  clock.now += 2_000
  expect((await fetch(fresh)).status).toBe(403)
  for (const foreign of ['https://example.com/files/a/0.png', 'nonsense', 7]) {
    expect(await call('POST', '/api/v1/common/download-url', { url: foreign })).toMatchObject({ code: 422 })
  }
})

test('files break off, die early or are gone, as the words say', async () => {
  const { clock, call, create, urlsOf } = await start()
  const made = async (words: string) => {
    const id = await create(`a cat ${words}`)
    clock.now += 60_000
    return (await urlsOf(id))[0] ?? ''
  }
  const status = async (url: string) => (await fetch(url)).status
  const fresh = async (url: string) =>
    String((await call('POST', '/api/v1/common/download-url', { url })).data)

  const dead = await made('[dead-links]')
  expect([await status(dead), await status(await fresh(dead))]).toEqual([403, 200])
  const gone = await made('[gone-files]')
  expect([await status(gone), await status(await fresh(gone))]).toEqual([404, 404])
  const broken = await made('[media-cut:2]')
  for (let fetched = 0; fetched < 2; fetched++) {
    await expect(fetch(broken).then((response) => response.arrayBuffer())).rejects.toThrow()
  }
  expect((await (await fetch(broken)).arrayBuffer()).byteLength).toBeGreaterThan(1_000)
})

test('result URLs carry the public name', async () => {
  const { clock, create, urlsOf } = await start({ publicUrl: 'https://sim.example/' })
  const id = await create('a cat')
  clock.now += 60_000
  expect((await urlsOf(id))[0]).toMatch(/^https:\/\/sim\.example\/files\/task_/)
})

test('tasks survive a restart, and go on where time has got to', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'kie-simulator-'))
  cleanups.push(() => rm(folder, { recursive: true }))
  const stateFile = join(folder, 'deep', 'state.json')
  const first = await start({ stateFile })
  const id = await first.create('a cat')
  // Not closed: what a killed process leaves behind is what the file holds when the create is answered.
  const stored = await readFile(stateFile, 'utf8')
  expect(stored).toContain(id)
  await writeFile(join(folder, 'copy.json'), stored)

  const second = await start({ stateFile: join(folder, 'copy.json') })
  expect(second.simulator.creates()).toBe(1)
  expect(await second.record(id)).toMatchObject({ state: 'waiting' })
  second.clock.now += 60_000
  expect(await second.record(id)).toMatchObject({ state: 'success' })
  await second.create('a dog')
  expect(second.simulator.creates()).toBe(2)
})

test('many creates at once are all in the file when they are answered', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'kie-simulator-'))
  cleanups.push(() => rm(folder, { recursive: true }))
  const stateFile = join(folder, 'state.json')
  const { create } = await start({ stateFile })
  const ids = await Promise.all(
    Array.from({ length: 15 }, async (_, index) => {
      const id = await create(`cat ${index}`)
      return (await readFile(stateFile, 'utf8')).includes(id)
    }),
  )
  expect(ids).toEqual(Array.from({ length: 15 }, () => true))
})

test('a state file that is broken is said so and does not stop the start', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'kie-simulator-'))
  cleanups.push(() => rm(folder, { recursive: true }))
  const stateFile = join(folder, 'state.json')
  await writeFile(stateFile, '{"version":1,"tas')
  const lines: string[] = []
  const { simulator, create } = await start({ stateFile, log: (line) => lines.push(line) })
  expect(lines).toEqual([`${stateFile} cannot be read; starting without it`])
  expect(simulator.creates()).toBe(0)
  expect(await create('a cat')).toMatch(/^task_/)
})

test('a port that is taken is an error, not a hang', async () => {
  const { simulator } = await start()
  await expect(startKieSimulator({ port: simulator.port })).rejects.toMatchObject({ code: 'EADDRINUSE' })
})

async function receiver(statusOf: (call: number) => number) {
  const calls: { headers: IncomingHttpHeaders; body: Envelope }[] = []
  const server = createServer(async (request, response) => {
    let text = ''
    for await (const chunk of request) text += chunk
    calls.push({ headers: request.headers, body: JSON.parse(text) })
    response.writeHead(statusOf(calls.length)).end()
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  cleanups.push(
    () =>
      new Promise((done) => {
        server.close(done)
        server.closeAllConnections()
      }),
  )
  const { port } = server.address() as { port: number }
  return { calls, url: `http://127.0.0.1:${port}/hook` }
}

test('a callback comes at the end, signed, with the record', async () => {
  const { calls, url } = await receiver(() => 200)
  const { create } = await start({ now: Date.now, speed: 100, webhookHmacKey: 'kie-test-key' })
  const id = await create('a cat', { callBackUrl: url })
  await expect.poll(() => calls, patiently).toHaveLength(1)
  const { headers, body } = calls[0] as (typeof calls)[0]
  expect(body).toMatchObject({
    code: 200,
    data: { taskId: id, state: 'success', consumeCredits: 4, remainedCredits: 99_996 },
  })
  expect(JSON.parse(String(body.data?.param))).toMatchObject({ callBackUrl: url })
  expect(headers['x-webhook-signature']).toBe(
    signKieCallback('kie-test-key', id, Number(headers['x-webhook-timestamp'])),
  )
})

test('a callback for a failure is code 501 without a result', async () => {
  const { calls, url } = await receiver(() => 200)
  const { create } = await start({ now: Date.now, speed: 100 })
  await create('a cat [fail]', { callBackUrl: url })
  await expect.poll(() => calls, patiently).toHaveLength(1)
  expect(calls[0]?.body).toMatchObject({
    code: 501,
    data: { state: 'fail', resultJson: null, consumeCredits: 0, failCode: '500' },
  })
  expect(calls[0]?.headers).not.toHaveProperty('x-webhook-signature')
})

test('a callback is tried three times, then never again', async () => {
  const { calls, url } = await receiver(() => 500)
  const lines: string[] = []
  const { create } = await start({
    now: Date.now,
    speed: 100,
    callbackRetryMs: 5,
    log: (line) => lines.push(line),
  })
  const id = await create('a cat', { callBackUrl: url })
  await expect.poll(() => lines, patiently).toHaveLength(3)
  expect(lines).toEqual([1, 2, 3].map((attempt) => `callback ${attempt} for ${id}: HTTP 500`))
  expect(calls).toHaveLength(3)
})

test('the signature is the vendor’s', () => {
  expect(signKieCallback('kie-test-key', 'task_abc', 1_700_000_000)).toBe(
    'YsuKGGIkIIm8zq8q8AJ7tPNSJVNYbimLqYKl7AMwqUI=',
  )
})

test('closing answers hanging requests with an end, and can be done twice', async () => {
  const { simulator, create } = await start()
  const hanging = create('a cat [hang]')
  await expect.poll(() => simulator.creates(), patiently).toBe(1)
  const closed = Promise.all([simulator.close(), simulator.close()])
  await expect(hanging).rejects.toThrow('fetch failed')
  await closed
})

test('files fail as the prompt says', async () => {
  const { clock, create, urlsOf } = await start()
  const id = await create('a cat [media-403:1]')
  clock.now += 60_000
  const [url = ''] = await urlsOf(id)
  expect((await fetch(url)).status).toBe(403)
  expect((await fetch(url)).status).toBe(200)
})

test('it can be scripted and asked over HTTP', async () => {
  const { clock, simulator, call, create, record } = await start()
  const post = (path: string, body: unknown) =>
    fetch(`${simulator.url}/simulator/${path}`, { method: 'POST', body: JSON.stringify(body) })
  const steps = [{ phase: 'working', says: 'polishing', forMs: 1_000 }]
  expect((await post('script', { steps, ending: 'failed' })).status).toBe(200)
  const id = await create('a cat')
  expect(await record(id)).toMatchObject({ state: 'polishing' })
  clock.now += 1_000
  expect(await record(id)).toMatchObject({ state: 'fail' })
  expect((await post('script', { words: ['stuck'] })).status).toBe(200)
  const stuck = await create('a cat')
  expect((await post('finish', { taskId: stuck })).status).toBe(200)
  expect(await record(stuck)).toMatchObject({ state: 'success' })
  const asked = await call('GET', '/simulator/requests')
  expect(asked).toMatchObject({ creates: 2, requests: { length: 5 } })
})
