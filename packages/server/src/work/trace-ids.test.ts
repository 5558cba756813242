import type { Task } from '@holdfast/shared'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { queueWork } from '../../test/queue-work.ts'
import { startSmallServer } from '../../test/small-server.ts'
import { createSweepContext } from '../../test/sweep-context.ts'
import { startTestHoldfast, type TestHoldfast } from '../../test/test-holdfast.ts'
import { sweepOverdue } from './poll/sweep-overdue.ts'
import { sweepSilent } from './poll/sweep-silent.ts'
import { sweepWaiting } from './send/sweep-waiting.ts'

const SECRET = `whsec_${Buffer.from('a secret of more than 24 bytes, as it should be').toString('base64')}`

/** What was logged of a task, other than by the request itself. */
const linesOf = (lines: string[], taskId: string) =>
  lines.map((line) => JSON.parse(line)).filter((line) => line.taskId === taskId)

let receiver: Awaited<ReturnType<typeof startSmallServer>>
let test: TestHoldfast
beforeAll(async () => {
  receiver = await startSmallServer(() => ({ status: 500 }))
  test = await startTestHoldfast({
    engineRuns: true,
    webhooks: [{ name: 'app', url: receiver.url, secret: SECRET }],
    script: { cancel: (_, nth) => nth > 1 },
  })
})
afterAll(async () => {
  await test.stop()
  await receiver.close()
})

describe('the trace id of the request that asked for a task', () => {
  it('stands on the lines of cancels and of deliveries', async () => {
    const made = await test.as('ada')<{ task: Task }>('POST', '/v1/tasks', {
      json: { type: 'image', params: { prompt: 'a fox' } },
    })
    const traceId = made.headers.get('x-trace-id')
    const { id } = made.body.task
    const running = async () =>
      expect(await test.sql`select from holdfast.tasks where id = ${id} and status = 'running'`).toHaveLength(
        1,
      )
    await vi.waitFor(running, { timeout: 10_000 })
    await test.as('ada')('POST', `/v1/tasks/${id}/cancel`)
    await vi.waitFor(
      async () => {
        await test.sql`update holdfast.work set due_at = now() where task_id = ${id} and kind = 'cancel'`
        const said = linesOf(test.logLines, id).map(({ msg }) => msg)
        expect(said).toContain('the provider did not take the cancel; it is asked again')
        expect(said).toContain('cancelled at the provider')
        expect(said).toContain('a webhook was not taken')
      },
      { timeout: 15_000 },
    )
    for (const line of linesOf(test.logLines, id)) expect(line, line.msg).toMatchObject({ traceId })
  })

  it('stands on the lines of sweeps', async () => {
    const context = createSweepContext(test.sql)
    // Of another provider, so that nobody works on them.
    const waiting = await queueWork(test.sql, { provider: 'none', kind: 'send', ageMs: 3_600_000 })
    const overdue = await queueWork(test.sql, { provider: 'none', kind: 'poll', dueMs: 3_600_000 })
    const silent = await queueWork(test.sql, { provider: 'none', kind: 'poll', dueMs: 3_600_000 })
    await test.sql.begin(async (tx) => {
      await tx`set local session_replication_role = replica`
      await tx`
        update holdfast.tasks set created_at = now() - interval '9 days', started_at = now() - interval '9 days',
          deadline_at = now() - interval '2 days'
        where id = any(${overdue}::uuid[])
      `
    })
    await test.sql`update holdfast.work set silent_since = now() - interval '121 min' where task_id = any(${silent}::uuid[])`
    await sweepWaiting(context)
    await sweepOverdue(context)
    await sweepSilent(context)
    for (const [id = ''] of [waiting, overdue, silent]) {
      const lines = linesOf(context.logLines, id)
      expect(lines.length).toBeGreaterThan(0)
      for (const line of lines) expect(line).toMatchObject({ traceId: 'trace' })
    }
  })
})
