import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { startCuttableProxy } from '../../test/cuttable-proxy.ts'
import { makeRunningTask, makeTask } from '../../test/make-task.ts'
import { createMemoryLog } from '../../test/memory-log.ts'
import { untold } from '../../test/record-notices.ts'
import { createTestSettle } from '../../test/settle-task.ts'
import { createTestDatabase, type TestDatabase } from '../../test/test-database.ts'
import { untracedLines } from '../../test/untraced-lines.ts'
import type { AlertNotice } from '../alerts/alert.ts'
import { connect, type Sql, type Tx } from '../database/connect.ts'
import { createConversation, listConversations } from '../plugins/conversations/conversations.ts'
import { conversationsPlugin } from '../plugins/conversations/conversations-plugin.ts'
import type { Plugin, SettledTask } from '../plugins/plugin.ts'
import { findTask } from './find-task.ts'
import type { Settlement } from './settle-task.ts'

let database: TestDatabase
let sql: Sql
beforeAll(async () => {
  database = await createTestDatabase()
  sql = connect(database.url)
  await database.sql.unsafe(`
    create table gallery (task_id uuid primary key, note text not null default '');
    create table late (task_id uuid, constraint found_at_commit unique (task_id) deferrable initially deferred);
  `)
})
afterAll(async () => {
  await sql.end()
  await database.drop()
})

const completed: Settlement = {
  status: 'completed',
  outputs: [
    { url: 'https://p.example/0.png', contentType: 'image/png', urlLifetimeMs: 600_000 },
    { url: 'https://p.example/1.bin', contentType: null, urlLifetimeMs: null },
  ],
}
const failed: Settlement = {
  status: 'failed',
  failure: { code: 'PROVIDER_FAILED', message: 'It did not work.', retryable: true },
}

let alerts: AlertNotice[]
let logLines: string[]
beforeEach(() => {
  alerts = []
  logLines = []
})
afterEach(() => expect(untracedLines(logLines)).toEqual([]))

/** A server's settle with these plugins besides conversations. */
function settleWith(plugins: Plugin[], { limitMs = 2_000, through = sql } = {}) {
  const { log, lines } = createMemoryLog()
  logLines = lines
  return createTestSettle(through, [conversationsPlugin, ...plugins], {
    log,
    alert: (notice) => void alerts.push(notice),
    pluginLimitMs: limitMs,
  })
}

/** A plugin that counts its calls and does as it is told in each. */
function plugin(onSettled: (tx: Tx, task: SettledTask, call: number) => Promise<void>, name = 'app') {
  const calls: SettledTask[] = []
  return {
    name,
    calls,
    onSettled: (tx: Tx, task: SettledTask) => onSettled(tx, task, calls.push(task)),
  }
}
const exhibit = async (tx: Tx, { id }: { id: string }): Promise<void> => {
  await tx`insert into gallery (task_id) values (${id})`
}
const gallery = async (taskId: string) => database.sql`select from gallery where task_id = ${taskId}`
const inConversation = async (userId = 'ada') => {
  const { conversation } = await createConversation(untold(sql), userId, { title: 'foxes' })
  return makeRunningTask(sql, { userId, conversationId: conversation.id, placeholderId: 'p-1' })
}
const find = (taskId: string, userId = 'ada') => findTask(sql, userId, taskId)

describe('an app joins the finish (F11)', () => {
  it('with tables of its own, in the same transaction', async () => {
    const task = await inConversation()
    const seen: unknown[] = []
    const app = plugin(async (tx, settled) => {
      await exhibit(tx, settled)
      // What it reads is the finish itself: status, message and files are there.
      seen.push(
        ...(await tx`
          select t.status, t.message_id is not null as told, (select count(*)::int from holdfast.artifacts a where a.message_id = t.message_id) as files
          from holdfast.tasks t where t.id = ${settled.id}
        `),
      )
      // Nobody else sees anything of it yet.
      expect(await find(settled.id)).toMatchObject({ status: 'running' })
      expect(await gallery(settled.id)).toHaveLength(0)
    })
    await settleWith([app])(task.id, completed)
    expect(seen).toEqual([{ status: 'completed', told: true, files: 2 }])
    expect(await gallery(task.id)).toHaveLength(1)
    expect(await find(task.id)).toMatchObject({ status: 'completed', saveState: 'saved' })
  })

  it('and is told all about the task', async () => {
    const task = await inConversation()
    const app = plugin(async () => {})
    await settleWith([app])(task.id, completed)
    expect(app.calls).toEqual([
      {
        id: task.id,
        userId: 'ada',
        type: 'image',
        provider: 'nobody',
        status: 'completed',
        params: { prompt: 'a fox' },
        metadata: {},
        conversationId: task.conversationId,
        placeholderId: 'p-1',
        parentId: null,
        retryOf: null,
        lane: 'free_default',
        priority: 5,
        failure: null,
        outputs: [
          {
            id: expect.stringMatching(/^[0-9a-f-]{36}$/),
            url: 'https://p.example/0.png',
            contentType: 'image/png',
            urlExpiresAt: expect.any(Date),
          },
          {
            id: expect.any(String),
            url: 'https://p.example/1.bin',
            contentType: null,
            urlExpiresAt: null,
          },
        ],
        usage: null,
        sent: 'accepted',
        creditsHeld: 0,
        creditsSpent: 0,
        createdAt: expect.any(Date),
        startedAt: expect.any(Date),
        finishedAt: expect.any(Date),
        traceId: 'trace',
      },
    ])
  })

  it('also of one that failed or was cancelled, once each; not of one that somebody else has ended', async () => {
    const app = plugin(exhibit)
    const settle = settleWith([app])
    const failing = await makeRunningTask(sql)
    const cancelled = await makeTask(sql)
    await settle(failing.id, failed)
    await settle(cancelled.id, { status: 'cancelled' })
    await settle(cancelled.id, completed)
    expect(app.calls).toMatchObject([
      { id: failing.id, status: 'failed', failure: failed.failure, outputs: [] },
      { id: cancelled.id, status: 'cancelled', startedAt: null, failure: null },
    ])
    expect(await find(failing.id)).toMatchObject({ saveState: 'none' })
  })

  it('together with what else belongs to this settle, or not at all', async () => {
    const task = await makeRunningTask(sql)
    const app = plugin(exhibit)
    const settle = settleWith([app])
    const also = async () => {
      throw new Error('no letter')
    }
    await expect(settle(task.id, failed, { also })).rejects.toThrow('no letter')
    expect(await settle(task.id, failed, { onlyIf: async () => false })).toEqual({ kind: 'fenced' })
    expect(await find(task.id)).toMatchObject({ status: 'running' })
    expect(await gallery(task.id)).toHaveLength(0)
    expect(app.calls).toHaveLength(0)
  })
})

describe('a plugin that throws', () => {
  it('once: the whole finish is tried again, and nothing is left of the first try', async () => {
    const task = await inConversation()
    const app = plugin(async (tx, settled, call) => {
      await exhibit(tx, settled)
      if (call === 1) throw new Error('a bad moment')
    })
    expect(await settleWith([app])(task.id, completed)).toEqual({ kind: 'settled', userId: 'ada' })
    expect(app.calls).toHaveLength(2)
    expect(await gallery(task.id)).toHaveLength(1)
    expect(await find(task.id)).toMatchObject({ saveState: 'saved', messageId: expect.any(String) })
    expect(alerts).toEqual([])
  })

  it('always: the task completes without it, the others have their part, and an operator is told', async () => {
    const task = await inConversation('bea')
    const broken = plugin(async (tx, settled) => {
      await exhibit(tx, settled)
      throw new Error('always')
    }, 'broken')
    const after = plugin(async (tx, { id }) => {
      await tx`insert into gallery (task_id, note) values (${id}, 'after')`
    }, 'after')
    const settle = settleWith([broken, after])
    expect(await settle(task.id, completed)).toEqual({ kind: 'settled', userId: 'bea' })
    expect(broken.calls).toHaveLength(3)
    expect(await find(task.id, 'bea')).toMatchObject({
      status: 'completed',
      saveState: 'failed',
      messageId: expect.any(String),
      result: { outputs: [{}, {}] },
    })
    expect(await listConversations(sql, 'bea')).toMatchObject({ conversations: [{ unread: 1 }] })
    expect(await gallery(task.id)).toHaveLength(1)
    expect(await database.sql`select unsaved from holdfast.tasks where id = ${task.id}`).toMatchObject([
      { unsaved: ['broken'] },
    ])
    expect(alerts).toEqual([
      {
        name: 'save-failed',
        key: 'broken',
        level: 'critical',
        message: expect.stringContaining('"broken" keeps failing'),
        details: { taskId: task.id, traceId: 'trace', plugin: 'broken' },
      },
    ])
    expect(logLines.join('')).toContain('always')
  })

  it('always, of a task that failed: it ends all the same, and says that something is missing', async () => {
    const task = await makeRunningTask(sql)
    const broken = plugin(async () => {
      throw new Error('always')
    })
    await settleWith([broken])(task.id, failed)
    expect(await find(task.id)).toMatchObject({ status: 'failed', saveState: 'failed' })
  })

  it('only at the commit: it is found out whose it is', async () => {
    const task = await inConversation()
    const late = plugin(async (tx, { id }) => {
      await tx`insert into late values (${id}), (${id})`
    }, 'late')
    const other = plugin(async (tx, { id }) => {
      await exhibit(tx, { id })
      // Its own constraints are as deferred as they were, although those before it were tried.
      await tx`insert into late values (${id}), (${id})`
      await tx`delete from late where ctid = (select max(ctid) from late where task_id = ${id})`
    }, 'other')
    await settleWith([late, other])(task.id, completed)
    expect(await find(task.id)).toMatchObject({ saveState: 'failed', messageId: expect.any(String) })
    expect(await gallery(task.id)).toHaveLength(1)
    expect(alerts).toMatchObject([{ key: 'late' }])
  })

  it('swallowed its own error: the transaction is spoilt all the same, and that is its fault', async () => {
    const task = await inConversation()
    const careless = plugin(async (tx) => {
      await tx`select 1 / 0`.catch(() => {})
    }, 'careless')
    const other = plugin(exhibit, 'other')
    await settleWith([careless, other])(task.id, completed)
    expect(await find(task.id)).toMatchObject({ saveState: 'failed', messageId: expect.any(String) })
    expect(await gallery(task.id)).toHaveLength(1)
    expect(alerts).toMatchObject([{ key: 'careless' }])
  })

  it('what looks like a lost connection to the database, but is not', async () => {
    const task = await inConversation()
    const networked = plugin(async () => {
      throw Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' })
    }, 'networked')
    await settleWith([networked])(task.id, completed)
    expect(await find(task.id)).toMatchObject({ saveState: 'failed', messageId: expect.any(String) })
    expect(alerts).toMatchObject([{ key: 'networked' }])
  })

  it('spoils the transaction for all that comes after: then all are left out, and the task still ends', async () => {
    const task = await inConversation()
    const vandal = plugin(async (tx) => {
      await tx.unsafe('set local role anon')
    }, 'vandal')
    const broken = plugin(async () => {
      throw new Error('always')
    }, 'broken')
    await settleWith([vandal, broken])(task.id, completed)
    expect(await find(task.id)).toMatchObject({ status: 'completed', saveState: 'failed', messageId: null })
    const [row] = await database.sql`select unsaved from holdfast.tasks where id = ${task.id}`
    expect(row?.unsaved).toEqual(['conversations', 'vandal', 'broken'])
  })
})

describe('a plugin that takes too long', () => {
  it.each<[string, (tx: Tx) => Promise<unknown>]>([
    ['in its own code', () => new Promise(() => {})],
    ['in the database', (tx) => tx`select pg_sleep(60)`],
  ])('%s is left out after one try, and its locks are given back', async (_, stall) => {
    const task = await inConversation()
    const slow = plugin(async (tx, settled) => {
      await exhibit(tx, settled)
      await stall(tx)
    }, 'slow')
    const other = plugin(async (tx, { id }) => {
      await tx`insert into gallery (task_id, note) values (${id}, 'other')`
    }, 'other')
    await settleWith([slow, other], { limitMs: 150 })(task.id, completed)
    expect(slow.calls).toHaveLength(1)
    expect(await find(task.id)).toMatchObject({ saveState: 'failed', messageId: expect.any(String) })
    expect(await database.sql`select note from gallery where task_id = ${task.id}`).toMatchObject([
      { note: 'other' },
    ])
    expect(alerts).toMatchObject([{ key: 'slow' }])
  })

  it('cannot use the transaction any more when it goes on at last', async () => {
    const task = await inConversation()
    let late: Promise<unknown> = Promise.resolve()
    const zombie = plugin(async (tx, { id }) => {
      const writes = [
        () => tx`insert into gallery (task_id) values (${id})`,
        () => tx.unsafe(`insert into gallery (task_id) values ('${id}')`),
        () => tx.savepoint((own) => own`insert into gallery (task_id) values (${id})`),
      ]
      late = sleep(300).then(() => Promise.allSettled(writes.map(async (write) => write())))
      await late
    }, 'zombie')
    await settleWith([zombie], { limitMs: 100 })(task.id, completed)
    expect(await late).toMatchObject(
      [1, 2, 3].map(() => ({
        status: 'rejected',
        reason: { message: expect.stringContaining('This transaction is over') },
      })),
    )
    expect(await gallery(task.id)).toHaveLength(0)
  })
})

describe('an essential plugin that throws', () => {
  it('holds the task as it is, with nothing written, until it works', async () => {
    const task = await inConversation('cat')
    let works = false
    const money = { ...plugin(exhibit, 'money'), essential: true }
    const onSettled = money.onSettled
    money.onSettled = async (tx, settled) => {
      await onSettled(tx, settled)
      if (!works) throw new Error('no money today')
    }
    const app = plugin(async () => {})
    const settle = settleWith([app, money])
    await expect(settle(task.id, completed)).rejects.toThrow('no money today')
    expect(await find(task.id, 'cat')).toMatchObject({ status: 'running', messageId: null })
    expect(await gallery(task.id)).toHaveLength(0)
    expect(app.calls).toHaveLength(0)
    expect(alerts).toMatchObject([{ name: 'settle-held-up', key: 'money', details: { traceId: 'trace' } }])
    expect(logLines.join('')).toContain('a task cannot end')

    works = true
    await settle(task.id, completed)
    expect(await find(task.id, 'cat')).toMatchObject({ status: 'completed', saveState: 'saved' })
    expect(await listConversations(sql, 'cat')).toMatchObject({ conversations: [{ unread: 1 }] })
  })

  it('is asked before the others, who then see what it wrote', async () => {
    const task = await makeRunningTask(sql)
    const order: string[] = []
    const named = (name: string) => plugin(async () => void order.push(name), name)
    await settleWith([named('first'), { ...named('essential'), essential: true }, named('second')])(
      task.id,
      completed,
    )
    expect(order).toEqual(['essential', 'first', 'second'])
  })
})

describe('the database goes away while a plugin writes (P5)', () => {
  it.each(['cut off', 'ended by PostgreSQL'])(
    '%s: nothing is written, and the process lives',
    async (how) => {
      const proxy = await startCuttableProxy(database.url)
      const through = connect(proxy.url)
      const crashes: unknown[] = []
      const onCrash = (error: unknown) => crashes.push(error)
      process.on('uncaughtException', onCrash)
      try {
        const task = await inConversation('dan')
        const app = plugin(async (tx) => {
          await tx.savepoint(async (own) => {
            const [row] = await own<[{ pid: number }]>`select pg_backend_pid() as pid`
            const end =
              how === 'cut off'
                ? proxy.cut()
                : database.sql`select pg_terminate_backend(${row.pid})`.execute()
            await Promise.all([own`select pg_sleep(20)`, end])
          })
        })
        const settle = settleWith([app], { limitMs: 20_000, through })
        const first = settle(task.id, completed).catch((error: unknown) => error)
        if (how === 'cut off') {
          expect(await first).toMatchObject({ code: expect.stringMatching(/^(CONNECT|ECONN)/) })
          expect(await find(task.id, 'dan')).toMatchObject({ status: 'running' })
          await proxy.mend()
          await settleWith([], { through })(task.id, completed)
        } else {
          // It is back at once, so the same call tries again: until the plugin has ended every connection it was given.
          await first
        }
        expect(await find(task.id, 'dan')).toMatchObject({ status: 'completed' })
        expect(await database.sql`select from holdfast.messages where task_id = ${task.id}`).toHaveLength(
          how === 'cut off' ? 1 : 0,
        )
        expect(crashes).toEqual([])
      } finally {
        process.off('uncaughtException', onCrash)
        await through.end({ timeout: 1 })
        await proxy.close()
      }
    },
  )
})
