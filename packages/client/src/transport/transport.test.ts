import type { TaskStatus } from '@holdfast/shared'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createBrowser, elapse, type Tab, until } from '../../test/browser.ts'
import { type ContractServer, startContractServer } from '../../test/contract-server.ts'
import { startEndpointServer } from '../../test/endpoint-server.ts'
import { systemClock } from '../environment/clock.ts'
import { createHoldfastTransport } from './holdfast-transport.ts'
import { createHttp } from './http.ts'
import { createPollingEndpointTransport } from './polling-endpoint-transport.ts'
import type { CreateTransport, Transport } from './transport.ts'

let server: ContractServer
let endpoints: Awaited<ReturnType<typeof startEndpointServer>>
const life = new AbortController()

beforeEach(async () => {
  server = await startContractServer()
  endpoints = await startEndpointServer(server)
})
afterEach(async () => {
  await endpoints.stop()
  await server.stop()
})

interface Raw {
  external_task_id: string
  kind: string
  status: string
  percent: number | null
  request_params: Record<string, unknown>
  placeholder_message_id: string | null
  retry_of: string | null
  message_id: string | null
  started_at: string
}

const onEndpoints = () =>
  createPollingEndpointTransport({
    url: endpoints.url,
    read(raw) {
      const task = raw as Raw
      return {
        id: task.external_task_id,
        type: task.kind,
        status: (task.status === 'success' ? 'completed' : task.status) as TaskStatus,
        progress: task.percent,
        params: task.request_params,
        placeholderId: task.placeholder_message_id,
        retryOf: task.retry_of,
        messageId: task.message_id,
        createdAt: task.started_at,
      }
    },
    submit: (http, body, key) =>
      http.json('POST', `${endpoints.url}/tasks`, { body, headers: { 'X-Key': key } }),
    cancel: (http, id) => http.json('POST', `${endpoints.url}/tasks/${id}/cancel`, { body: {} }),
    retry: (http, id, key) =>
      http.json('POST', `${endpoints.url}/tasks/${id}/retry`, { body: {}, headers: { 'X-Key': key } }),
    save: (http, id) => http.json('POST', `${endpoints.url}/tasks/${id}/save`, { body: {} }),
  })

const TRANSPORTS: [string, () => CreateTransport][] = [
  ['Holdfast’s server', createHoldfastTransport],
  ['an app’s own polling endpoints', onEndpoints],
]

function open(create: CreateTransport, token = 'alice'): Transport {
  const getToken = () => token
  const http = createHttp({
    url: server.url,
    fetch,
    clock: systemClock,
    tokenSource: () => getToken,
    session: life.signal,
  })
  return create({ http, clock: systemClock, browserId: () => 'browser' })
}

const ids = (tasks: { id: string }[]) => tasks.map(({ id }) => id).toSorted()

describe.each(TRANSPORTS)('a transport to %s', (_, create) => {
  it('knows what is running, all of it, and only this user’s', async () => {
    const mine = Array.from({ length: 5 }, () => server.put('alice'))
    server.put('bob')
    server.put('alice', { status: 'completed' })
    const { tasks } = await open(create()).sync({ known: {}, cursor: null })
    expect(ids(tasks.filter((task) => task.status === 'pending'))).toEqual(ids(mine))
    expect(tasks.length).toBeLessThanOrEqual(6)
  })

  it('syncs: tells what is new, what ended, and what is gone', async () => {
    const transport = open(create())
    const running = server.put('alice', { status: 'running', progress: 10 })
    const ending = server.put('alice', { status: 'running' })
    const lost = server.put('alice')
    const first = await transport.sync({ known: {}, cursor: null })
    expect(ids(first.tasks)).toEqual(ids([running, ending, lost]))
    expect(Date.parse(first.now)).toBeGreaterThan(0)
    const known = Object.fromEntries(
      first.tasks.map((task): [string, [number, number | null]] => [task.id, [task.version, task.progress]]),
    )
    server.change(ending.id, { status: 'completed' })
    server.remove(lost.id)
    const second = await transport.sync({ known, cursor: first.cursor })
    expect(second.gone).toEqual([lost.id])
    const ended = second.tasks.find(({ id }) => id === ending.id)
    expect(ended?.status).toBe('completed')
    expect(ended?.version).toBeGreaterThan(known[ending.id]?.[0] ?? 0)
  })

  it('submits once per key, cancels, retries and saves', async () => {
    const transport = open(create())
    const body = { type: 'image', params: { prompt: 'a lighthouse' }, placeholderId: 'card' }
    const task = await transport.submit(body, 'key-1')
    expect(task).toMatchObject({ ...body, status: 'pending' })
    expect((await transport.submit(body, 'key-1')).id).toBe(task.id)
    expect(await transport.cancel(task.id)).toMatchObject({ id: task.id, status: 'cancelled' })
    const again = await transport.retry(task.id, 'key-2')
    expect(again).toMatchObject({ retryOf: task.id, placeholderId: 'card' })
    server.change(again.id, { status: 'completed' })
    expect(await transport.save(again.id)).toMatchObject({ id: again.id, messageId: 'message-saved' })
  })

  it('rejects with a HoldfastError that says whether it may pass', async () => {
    server.refuseToken('expired')
    await expect(open(create(), 'expired').sync({ known: {}, cursor: null })).rejects.toMatchObject({
      status: 401,
    })
    await expect(open(create()).cancel('00000000-0000-4000-8000-000000000000')).rejects.toMatchObject({
      code: 'NOT_FOUND',
    })
  })

  it('carries a whole client: restore, submit, the end, in every tab', async () => {
    const browser = createBrowser(server.url)
    const state = (tab: Tab) => tab.client.store.getState()
    const running = server.put('alice', { status: 'running' })
    const tabs = [browser.openTab({ transport: create() }), browser.openTab({ transport: create() })]
    for (const tab of tabs) await tab.signIn()
    for (const tab of tabs) await until(() => running.id in state(tab).tasks)
    const settled: string[] = []
    tabs[0]?.client.onSettled((task) => settled.push(task.id))
    tabs[1]?.client.onSettled((task) => settled.push(task.id))
    const submission = await tabs[1]?.client.submit({ type: 'image', params: {} })
    const made = await submission?.task
    for (const id of [running.id, made?.id ?? '']) server.change(id, { status: 'completed' })
    for (const tab of tabs) {
      await elapse(browser.clock, () =>
        [running.id, made?.id ?? ''].every((id) => state(tab).tasks[id]?.status === 'completed'),
      )
    }
    await until(() => settled.length === 2)
    expect(settled.toSorted()).toEqual([running.id, made?.id].toSorted())
    await browser.close()
  })
})

it('an endpoint without a call says so', async () => {
  const transport = open(
    createPollingEndpointTransport({
      url: endpoints.url,
      read: () => ({ id: 'a', type: 'image', status: 'pending' }),
    }),
  )
  await expect(transport.submit({ type: 'image', params: {} }, 'key')).rejects.toMatchObject({
    code: 'UNSUPPORTED',
  })
})
