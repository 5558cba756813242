import '../../test/dom.ts'
import { act, cleanup, render, renderHook, screen, waitFor } from '@testing-library/react'
import { IDBFactory } from 'fake-indexeddb'
import { type ReactNode, StrictMode } from 'react'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { until } from '../../test/browser.ts'
import { type ContractServer, startContractServer } from '../../test/contract-server.ts'
import { createClient, type HoldfastClient } from '../index.ts'
import {
  HoldfastProvider,
  useConnection,
  useHoldfast,
  useRestoredTasks,
  useSubmitTask,
  useTask,
} from './index.ts'

let server: ContractServer
let client: HoldfastClient
let apps = 0

beforeEach(async () => {
  server = await startContractServer()
  client = createClient({
    url: server.url,
    app: `react-${++apps}`,
    environment: { indexedDB: new IDBFactory(), sessionStorage: null },
  })
})
afterEach(async () => {
  cleanup()
  await client.close()
  await server.stop()
})

const wrapper = ({ children }: { children: ReactNode }) => (
  <StrictMode>
    <HoldfastProvider client={client}>{children}</HoldfastProvider>
  </StrictMode>
)

const signIn = () => client.setUser({ id: 'alice', getToken: () => 'alice' })
/** Lets the client work, with React applying what comes of it. */
const settle = (check: () => unknown) => act(async () => void (await until(check)))
const pushing = () => settle(() => client.store.getState().connection === 'push')

function TaskCount() {
  return <p>{useRestoredTasks().tasks.length}</p>
}

describe('useRestoredTasks', () => {
  it('C1: restores on log-in, oldest first, by conversation', async () => {
    const conversationId = 'conversation-1'
    const second = server.put('alice', { conversationId, createdAt: '2026-01-02T00:00:00.000Z' })
    const first = server.put('alice', { conversationId, createdAt: '2026-01-01T00:00:00.000Z' })
    const loose = server.put('alice')
    const all = renderHook(() => useRestoredTasks(), { wrapper })
    const talk = renderHook(() => useRestoredTasks({ conversationId }), { wrapper })
    const none = renderHook(() => useRestoredTasks({ conversationId: null }), { wrapper })
    expect(all.result.current).toMatchObject({
      tasks: [],
      placeholders: [],
      restore: 'signed-out',
      isRestoring: false,
    })
    await act(signIn)
    await pushing()
    const ids = (hook: typeof all) => hook.result.current.tasks.map((task) => task.id)
    expect(ids(all)).toEqual([first.id, second.id, loose.id])
    expect(ids(talk)).toEqual([first.id, second.id])
    expect(ids(none)).toEqual([loose.id])
    expect(talk.result.current).toMatchObject({ restore: 'confirmed', isRestoring: false })
    expect(talk.result.current.placeholders.map(({ taskId }) => taskId)).toEqual([first.id, second.id])
  })

  it('C5: many hooks under StrictMode cause one restore', async () => {
    render(
      Array.from({ length: 10 }, (_, key) => key).map((key) => <TaskCount key={key} />),
      { wrapper },
    )
    server.put('alice')
    await act(signIn)
    await pushing()
    expect(screen.getAllByText('1')).toHaveLength(10)
    expect(server.requests.map((request) => request.path)).toEqual(['/v1/sync', '/v1/stream'])
  })

  it('C7: a task turns overdue before the eyes of the user', async () => {
    const deadlineAt = new Date(Date.now() + 400).toISOString()
    server.put('alice', { status: 'running', deadlineAt })
    const { result } = renderHook(() => useRestoredTasks(), { wrapper })
    await act(signIn)
    await waitFor(() => expect(result.current.placeholders[0]?.state).toBe('failed'), { timeout: 4_000 })
    expect(result.current.placeholders[0]?.failure?.code).toBe('DEADLINE_EXCEEDED')
    expect(result.current.tasks[0]?.status).toBe('running')
  })
})

describe('re-rendering', () => {
  it('happens only for what a component selected', async () => {
    const mine = server.put('alice', { conversationId: 'a' })
    const other = server.put('alice', { conversationId: 'b' })
    await signIn()
    await until(() => client.store.getState().connection === 'push')
    const renders = { task: 0, list: 0, connection: 0 }
    const plain = ({ children }: { children: ReactNode }) => (
      <HoldfastProvider client={client}>{children}</HoldfastProvider>
    )
    const counted = <T,>(name: keyof typeof renders, useIt: () => T) =>
      renderHook(
        () => {
          renders[name]++
          return useIt()
        },
        { wrapper: plain },
      )
    const task = counted('task', () => useTask(mine.id))
    counted('list', () => useRestoredTasks({ conversationId: 'a' }))
    counted('connection', useConnection)
    expect(renders).toEqual({ task: 1, list: 1, connection: 1 })

    server.change(other.id, { progress: 50 })
    await settle(() => client.store.getState().tasks[other.id]?.progress === 50)
    expect(renders).toEqual({ task: 1, list: 1, connection: 1 })

    server.change(mine.id, { progress: 70 })
    await settle(() => task.result.current?.progress === 70)
    expect(renders).toEqual({ task: 2, list: 2, connection: 1 })
  })
})

describe('useTask', () => {
  it('is undefined for no id, an unknown id, and after log-out', async () => {
    const { id } = server.put('alice')
    const { result } = renderHook(() => [useTask(null), useTask('unknown'), useTask(id)], { wrapper })
    await act(signIn)
    await pushing()
    expect(result.current.map((task) => task?.id)).toEqual([undefined, undefined, id])
    await act(() => client.logout())
    expect(result.current).toEqual([undefined, undefined, undefined])
  })
})

describe('useSubmitTask', () => {
  it('F16: is free again as soon as the task id is back', async () => {
    const { result } = renderHook(() => useSubmitTask(), { wrapper })
    await signIn()
    let submitting: Promise<unknown> = Promise.resolve()
    act(() => {
      submitting = result.current.submit({ type: 'image', params: {} })
    })
    expect(result.current.isSubmitting).toBe(true)
    await act(() => submitting)
    expect(result.current).toMatchObject({ isSubmitting: false, error: null })
  })

  it('keeps the error until the next try or reset', async () => {
    const { result } = renderHook(() => useSubmitTask(), { wrapper })
    const fail = () =>
      act(async () => {
        await expect(result.current.submit({ type: 'image', params: {} })).rejects.toMatchObject({
          code: 'SIGNED_OUT',
        })
      })
    await fail()
    expect(result.current).toMatchObject({ isSubmitting: false, error: { code: 'SIGNED_OUT' } })
    act(() => result.current.reset())
    expect(result.current.error).toBeNull()
  })
})

describe('useConnection', () => {
  it('says how this tab is doing', async () => {
    const { result } = renderHook(() => useConnection(), { wrapper })
    expect(result.current).toMatchObject({ connection: 'offline', storage: 'memory' })
    await act(signIn)
    await pushing()
    const { tabId } = client.store.getState()
    expect(result.current).toEqual({
      connection: 'push',
      role: 'leader',
      storage: 'durable',
      storageProblem: null,
      tabId,
    })
  })
})

describe('useHoldfast', () => {
  it('gives the client, and says what to do when there is none', () => {
    expect(renderHook(() => useHoldfast(), { wrapper }).result.current).toBe(client)
    expect(() => renderHook(() => useHoldfast(), { onCaughtError: () => {} })).toThrow('<HoldfastProvider')
  })
})
