import type { Task } from '@holdfast/shared'
import { afterEach, expect, it } from 'vitest'
import { startTestHoldfast, type TestHoldfastOptions } from '../../test/test-holdfast.ts'
import { signToken } from '../../test/test-tokens.ts'

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

/** The lanes of new tasks of users with these plans, as a server with these settings chooses them. */
async function lanesFor(plans: (string | null)[], options: TestHoldfastOptions = {}): Promise<string[]> {
  const server = await startTestHoldfast(options)
  closing.push(server.stop)
  const lanes: string[] = []
  for (const plan of plans) {
    const token = await signToken('ada', plan === null ? {} : { app_metadata: { plan } })
    const { body } = await server.call<{ task: Task }>('POST', '/v1/tasks', {
      json: { type: 'image', params: { prompt: 'a fox' } },
      headers: { authorization: `Bearer ${token}` },
    })
    const [work] = await server.sql<{ lane: string }[]>`
      select lane from holdfast.work where task_id = ${body.task.id} and kind = 'send'
    `
    lanes.push(work?.lane ?? 'none')
  }
  return lanes
}

it('a new task goes to the lane of its user’s plan, unless the operator says otherwise', async () => {
  expect(await lanesFor([null, 'free', 'pro', 'enterprise'])).toEqual([
    'free_default',
    'free_default',
    'vip_short',
    'enterprise_exclusive',
  ])
})

it('the operator may name the lanes of plans', async () => {
  expect(await lanesFor(['gold', 'pro'], { routeByPlan: { gold: 'enterprise_exclusive' } })).toEqual([
    'enterprise_exclusive',
    'free_default',
  ])
})

it('the operator may choose the lane of each task', async () => {
  expect(await lanesFor(['pro'], { route: () => 'vip_long' })).toEqual(['vip_long'])
})
