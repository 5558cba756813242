/**
 * The least that keeps the promises: create committed before the answer, mark committed before the send, the external
 * id written, the end in one transaction, file and folder fsynced. One process, every statement for many tasks. With
 * `bare-statements.ts` it has fewer than 300 lines; what is around it (HTTP, vendor, disk) is what the peers have too.
 */
import postgres from 'postgres'
import { bareStatements, type ClaimedPoll, type ClaimedSend } from './bare-statements.ts'
import { gather } from './gather.ts'
import { type FoundTask, serveTasks } from './serve-tasks.ts'
import { type ContenderSettings, FIRST_POLL_MS, IN_FLIGHT, NEXT_POLL_MS } from './settings.ts'
import { createFileStore } from './store-file.ts'
import { TASKS_AND_FILES, WORK } from './tables.ts'
import { createVendorClient } from './vendor-client.ts'

const COPIES_AT_ONCE = 64
/** Due polls are looked for this far apart at least, so that they are claimed together. */
const LEAST_LOOK_MS = 20
/** What fell due without a hint, after a crash for one, is found by this look. */
const SAFETY_LOOK_MS = 5_000

const { databaseUrl, vendorUrl, folder }: ContenderSettings = JSON.parse(process.argv[2] ?? '')
const sql = postgres(databaseUrl, { max: 10, onnotice: () => {} })
await sql.unsafe(TASKS_AND_FILES + WORK)
const statements = bareStatements(sql)
const vendor = createVendorClient(vendorUrl)
const storeFile = await createFileStore(folder)

const create = gather(statements.create)
const accept = gather(statements.accept)
const postpone = gather(statements.postpone)
const settle = gather(statements.settle)
const stored = gather(statements.stored)

/** A benchmark that failed must not go on. */
function fail(error: unknown): never {
  console.error(error)
  process.exit(1)
}

/** Claims while there is room and more to claim. What wakes it during a claim makes it look once more. */
function createClaims<T>(
  most: number,
  claim: (room: number) => Promise<T[]>,
  run: (work: T) => Promise<void>,
) {
  let free = most
  let isLooking = false
  let isMore = false

  async function look(): Promise<void> {
    isLooking = true
    while (isMore && free > 0) {
      isMore = false
      const room = free
      const claimed = await claim(room)
      if (claimed.length === room) isMore = true
      free -= claimed.length
      for (const work of claimed) void runOne(work)
    }
    isLooking = false
  }

  async function runOne(work: T): Promise<void> {
    await run(work).catch(fail)
    free += 1
    if (isMore) wake()
  }

  function wake(): void {
    isMore = true
    if (!isLooking && free > 0) look().catch(fail)
  }
  return wake
}

const wakeSends = createClaims(
  IN_FLIGHT.create,
  statements.claimSends,
  async ({ id, params }: ClaimedSend) => {
    const externalId = await vendor.create(params)
    void accept({ id, externalId }).then(() => wakePollsIn(FIRST_POLL_MS), fail)
  },
)

const wakePolls = createClaims(IN_FLIGHT.query, statements.claimPolls, async (work: ClaimedPoll) => {
  const url = await vendor.query(work.externalId)
  void (url === null ? comeBack(work) : finish(work, url)).catch(fail)
})

async function comeBack({ id }: ClaimedPoll): Promise<void> {
  await postpone({ id })
  wakePollsIn(NEXT_POLL_MS)
}

let copying = 0
const copiesWaiting: (() => void)[] = []
async function finish({ id, epoch }: ClaimedPoll, url: string): Promise<void> {
  if (!(await settle({ id, epoch, url }))) return
  if (copying >= COPIES_AT_ONCE) await new Promise<void>((resolve) => copiesWaiting.push(resolve))
  else copying += 1
  const file = await storeFile(id, await vendor.file(url))
  const next = copiesWaiting.shift()
  if (next) next()
  else copying -= 1
  await stored({ ...file, epoch })
}

/** Times at which polls fall due, nearly in order: a later one that stands first only delays the look by 20 ms. */
const dueTimes: number[] = []
let timer: NodeJS.Timeout | undefined
function wakePollsIn(ms: number): void {
  dueTimes.push(performance.now() + ms)
  sleep()
}
function sleep(): void {
  if (timer || dueTimes.length === 0) return
  const first = dueTimes[0] ?? 0
  timer = setTimeout(
    () => {
      timer = undefined
      const now = performance.now()
      const later = dueTimes.findIndex((dueAt) => dueAt > now)
      dueTimes.splice(0, later < 0 ? dueTimes.length : later)
      wakePolls()
      sleep()
    },
    Math.max(LEAST_LOOK_MS, first - performance.now() + 5),
  )
}
setInterval(() => {
  wakeSends()
  wakePolls()
}, SAFETY_LOOK_MS)

serveTasks({
  async create(task) {
    const created = await create(task)
    if (created) {
      wakeSends()
      return { ...created, isNew: true }
    }
    const [known] = await sql<{ id: string; bodyHash: string; createdAt: Date }[]>`
      select id, body_hash as "bodyHash", created_at as "createdAt" from tasks
      where user_id = ${task.userId} and key = ${task.key}
    `
    if (known?.bodyHash !== task.bodyHash) return 'conflict'
    return { id: known.id, createdAt: known.createdAt, isNew: false }
  },
  async find(userId, id) {
    const [found] = await sql<FoundTask[]>`
      select t.status, f.state as "fileState" from tasks t left join files f on f.task_id = t.id
      where t.id = ${id} and t.user_id = ${userId}
    `
    return found ?? null
  },
})
