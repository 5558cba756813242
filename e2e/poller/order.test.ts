import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { LANES } from '@holdfast/shared'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { until } from '../../bench/crash/until.ts'
import { eachWithLimit } from '../../bench/poll/each-with-limit.ts'
import { openPollerLab, type PollerLab, type Stage } from '../../bench/poller/poller-lab.ts'
import { submitTask, type TaskToSubmit } from '../../bench/poller/submit-task.ts'
import { type ServeReplica, startServe } from '../../bench/replicas/start-serve.ts'
import { signToken, TEST_AUDIENCE, TEST_ISSUER, TEST_SECRET } from '../../packages/server/test/test-tokens.ts'

/** Who is sent when, by the provider's own log: creates are counted in the order in which it received them. */
let lab: PollerLab
const undo: (() => Promise<unknown>)[] = []
beforeAll(async () => {
  lab = await openPollerLab()
}, 60_000)
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step()
}, 30_000)
afterAll(() => lab?.close(), 60_000)

const WITHIN = { withinMs: 30_000, everyMs: 2 }
const AT_ONCE = 16

/** Two servers, and a provider that takes so many creates at a time. Its answers may be held for a while. */
async function openQueue(inFlight: number): Promise<Stage> {
  const create = { perSecond: 10_000, inFlight }
  const stage = await lab.openStage({
    lock: 'advisory',
    replicas: 2,
    limits: { create, callTimeoutMs: 60_000 },
  })
  undo.push(() => stage.close())
  await until('a holder', async () => (await stage.holders()).length === 1, WITHIN)
  return stage
}

const urlOf = ({ replicas }: Stage, index: number) => replicas[index]?.url ?? ''
const submitAll = (url: string, tasks: readonly TaskToSubmit[]) =>
  eachWithLimit(tasks, AT_ONCE, (task) => submitTask(url, task))
const many = (count: number, taskOf: (n: number) => TaskToSubmit) =>
  Array.from({ length: count }, (_, index) => taskOf(index + 1))

/** The prompts that the provider was asked to create, the first first. */
const created = ({ kie }: Stage) =>
  kie.arrivals.filter(({ operation }) => operation === 'create').map(({ id }) => id)
const untilCreated = (stage: Stage, count: number) =>
  until(`${count} creates`, async () => created(stage).length >= count, WITHIN)

async function countWaiting({ sql }: Stage): Promise<number> {
  const [row] = await sql<[{ count: number }]>`
    select count(*)::int from holdfast.provider_jobs where sending_at is null
  `
  return row.count
}

/**
 * How many creates go out between this task's submit and its own create. Stops waiting at `most`: a task that has to
 * wait for all the others is seen at once.
 */
async function countOvertaking(
  stage: Stage,
  task: TaskToSubmit,
  { at, isHeld, most }: { at: number; isHeld: boolean; most: number },
): Promise<number> {
  const { kie } = stage
  // Nothing then goes out before the answer to the submit is here.
  if (isHeld) kie.hold()
  await submitTask(urlOf(stage, at), task)
  const from = created(stage).length
  kie.release()
  await until(
    `${task.prompt} or ${most} others`,
    async () => created(stage).includes(task.prompt) || created(stage).length - from >= most,
    WITHIN,
  )
  const place = created(stage).indexOf(task.prompt)
  return place < 0 ? most : Math.max(0, place - from)
}

describe('creates go out fair and in order', () => {
  it('at most two more of a user with 1,000 waiting start before the first of another', async () => {
    const stage = await openQueue(1)
    const { kie } = stage
    kie.hold()
    await submitAll(
      urlOf(stage, 0),
      many(1_000, (n) => ({ userId: 'ada', prompt: `ada-${n}` })),
    )
    await untilCreated(stage, 1)
    expect(await countWaiting(stage)).toBe(999)

    // Whichever server is asked, while nothing moves and while they go out one after the other.
    kie.delayMs = 10
    kie.release()
    for (const [index, userId] of ['bob', 'cleo', 'dan', 'eve', 'fay', 'gus', 'hal', 'ian'].entries()) {
      const task = { userId, prompt: `${userId}-1` }
      const how = { at: index % 2, isHeld: index % 4 < 2, most: 30 }
      const count = await countOvertaking(stage, task, how)
      expect(count, userId).toBeLessThanOrEqual(2)
      await untilCreated(stage, created(stage).length + 10)
    }
    expect(await countWaiting(stage)).toBeGreaterThan(500)
  })

  it('urgent ones before normal ones, and those before low ones', async () => {
    const stage = await openQueue(1)
    const { kie } = stage
    kie.hold()
    await submitTask(urlOf(stage, 0), { userId: 'ada', prompt: 'under way' })
    await untilCreated(stage, 1)
    // The least urgent comes first each time, of a user with many and of users with one.
    const rounds = [1, 2, 3, 4]
    for (const round of rounds) {
      for (const priority of ['low', 'normal', 'urgent'] as const) {
        const userId = round % 2 === 0 ? 'ada' : `${priority}-${round}`
        await submitTask(urlOf(stage, round % 2), { userId, prompt: `${priority} ${round}`, priority })
      }
    }
    expect(created(stage)).toEqual(['under way'])
    kie.release()
    await untilCreated(stage, 13)
    const priorities = created(stage).map((prompt) => prompt.split(' ')[0])
    const four = (priority: string) => rounds.map(() => priority)
    expect(priorities).toEqual(['under', ...four('urgent'), ...four('normal'), ...four('low')])
  })

  it('a flood in free_default does not delay vip_short', async () => {
    const inFlight = 4
    const stage = await openQueue(inFlight)
    const { kie } = stage
    kie.hold()
    // Of a user each: being the first of its user brings a task nothing here.
    await submitAll(
      urlOf(stage, 0),
      many(1_000, (n) => ({ userId: `free_default:${n}`, prompt: `flood-${n}` })),
    )
    // One place by itself is not claimed for.
    await untilCreated(stage, inFlight - 1)
    await submitTask(urlOf(stage, 1), { userId: 'free_default:late', prompt: 'late' })
    kie.delayMs = 25
    kie.release()

    for (let n = 1; n <= 20; n += 1) {
      await untilCreated(stage, created(stage).length + 5)
      const task = { userId: `vip_short:${n}`, prompt: `vip-${n}` }
      const count = await countOvertaking(stage, task, { at: n % 2, isHeld: n % 4 < 2, most: 60 })
      // What was claimed before it, and what its own claim gives to the flood.
      expect(count, task.prompt).toBeLessThan(2 * inFlight)
    }
    // Somebody of the flooded lane waits for all of it.
    expect(await countWaiting(stage)).toBeGreaterThan(100)
    expect(created(stage)).not.toContain('late')
  })
})

describe('two servers that are pinned to different lanes, under the lock that they have by default', () => {
  it('serve all four lanes between them', async () => {
    const stage = await lab.openStage({ lock: 'none', replicas: 0, limits: {} })
    undo.push(() => stage.close())
    // Nothing is copied from there: what is tested is over with the task.
    stage.kie.fileUrl = (id) => `http://127.0.0.1:9/${id}.png`
    const folder = await mkdtemp(join(tmpdir(), 'holdfast-order-'))
    undo.push(() => rm(folder, { recursive: true, force: true }))
    const serve = async (lanes: string): Promise<ServeReplica> => {
      const server = await startServe({
        DATABASE_URL: stage.databaseUrl,
        HOLDFAST_DATA_DIR: join(folder, lanes),
        JWT_SECRET: TEST_SECRET,
        JWT_ISSUER: TEST_ISSUER,
        JWT_AUDIENCE: TEST_AUDIENCE,
        KIE_API_KEY: 'poller-key',
        KIE_BASE_URL: stage.kie.url,
        LANES: lanes,
      })
      undo.push(() => server.kill())
      return server
    }
    const servers = await Promise.all([
      serve('enterprise_exclusive,vip_short'),
      serve('vip_long,free_default'),
    ])

    const asked = [
      { plan: 'enterprise', type: 'image' },
      { plan: 'pro', type: 'image' },
      { plan: 'pro', type: 'video' },
      { plan: 'free', type: 'image' },
    ]
    const watching = new AbortController()
    undo.push(async () => watching.abort())
    for (const [index, { plan, type }] of asked.entries()) {
      const token = await signToken(`user-${index}`, { app_metadata: { plan } })
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
      // What is watched is polled soon, wherever its lane is served.
      for (const { url } of servers) await fetch(`${url}/v1/stream`, { headers, signal: watching.signal })
      const response = await fetch(`${servers[0]?.url}/v1/tasks`, {
        method: 'POST',
        headers,
        body: JSON.stringify({ type, params: { prompt: `${plan} ${type}` } }),
      })
      expect(response.status, await response.text()).toBe(201)
    }
    const completed = () =>
      stage.sql<{ lane: string }[]>`select lane from holdfast.tasks where status = 'completed'`
    await until('a task of each lane to end', async () => (await completed()).length === 4, WITHIN).catch(
      async (error: unknown) => {
        const seen = (await completed()).map(({ lane }) => lane).join(', ')
        throw new Error(
          `Only those of ${seen || 'no lane'}.\n${servers.map((one) => one.said()).join('\n')}`,
          {
            cause: error,
          },
        )
      },
    )
    expect((await completed()).map(({ lane }) => lane).toSorted()).toEqual(LANES.toSorted())
    expect(created(stage)).toHaveLength(4)
  })
})
