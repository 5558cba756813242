import '../../test/dom.ts'
import { act, cleanup, render, renderHook, screen, waitFor } from '@testing-library/react'
import { IDBFactory } from 'fake-indexeddb'
import { type ReactNode, StrictMode } from 'react'
import { hydrateRoot } from 'react-dom/client'
import { renderToString } from 'react-dom/server'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { until } from '../../test/browser.ts'
import { type ContractServer, startContractServer } from '../../test/contract-server.ts'
import { createClient, type HoldfastClient } from '../index.ts'
import {
  HoldfastProvider,
  type RestoredTasks,
  useConnection,
  useHoldfast,
  useRestoredTasks,
  useSubmitTask,
  useTask,
  useTaskSettled,
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
  it('restores on log-in, oldest first, by conversation', async () => {
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

  it('many hooks under StrictMode cause one restore', async () => {
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

  it('a task turns overdue before the eyes of the user', async () => {
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
    const renders = { task: 0, list: 0, connection: 0, count: 0 }
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
    counted('count', () => useRestoredTasks({ select: ({ tasks }) => ({ all: tasks.length }) }))
    expect(renders).toEqual({ task: 1, list: 1, connection: 1, count: 1 })

    server.change(other.id, { progress: 50 })
    await settle(() => client.store.getState().tasks[other.id]?.progress === 50)
    expect(renders).toEqual({ task: 1, list: 1, connection: 1, count: 1 })

    server.change(mine.id, { progress: 70 })
    await settle(() => task.result.current?.progress === 70)
    expect(renders).toEqual({ task: 2, list: 2, connection: 1, count: 1 })
  })
})

/** A row says what `select` gives for the tasks of one conversation, and how to read it. */
const SELECTIONS: [string, (restored: RestoredTasks) => unknown, (value: never) => unknown][] = [
  ['a Set', ({ tasks }) => new Set(tasks.map(progressOf)), (value: Set<unknown>) => [...value]],
  [
    'a Map',
    ({ tasks }) => new Map(tasks.map((task) => [task.id, task.progress])),
    (value: Map<string, unknown>) => [...value.values()],
  ],
  ['an array', ({ tasks }) => tasks.map(progressOf), (value: unknown[]) => value],
  ['an object', ({ tasks }) => ({ first: tasks[0]?.progress }), (value: { first: unknown }) => [value.first]],
  ['a plain value', ({ tasks }) => tasks[0]?.progress, (value: unknown) => [value]],
]
const progressOf = ({ progress }: { progress: number | null }) => progress

describe('select', () => {
  const plain = ({ children }: { children: ReactNode }) => (
    <HoldfastProvider client={client}>{children}</HoldfastProvider>
  )

  async function selected(select: (restored: RestoredTasks) => unknown) {
    const mine = server.put('alice', { conversationId: 'a', progress: 10 })
    const other = server.put('alice', { conversationId: 'b', progress: 10 })
    await signIn()
    await until(() => client.store.getState().connection === 'push')
    let renders = 0
    const { result } = renderHook(
      () => {
        renders++
        // A new function each time, as most apps write it.
        return useRestoredTasks({
          conversationId: 'a',
          select: (restored: RestoredTasks) => select(restored),
        })
      },
      { wrapper: plain },
    )
    const change = async (id: string, patch: Parameters<typeof server.change>[1]) => {
      const { version } = server.change(id, patch)
      await settle(() => client.store.getState().tasks[id]?.version === version)
    }
    return { mine, other, result, change, renders: () => renders }
  }

  it.each(SELECTIONS)('of %s updates when what is in it changes, and only then', async (_, select, read) => {
    const { mine, other, result, change, renders } = await selected(select)
    expect(read(result.current as never)).toEqual([10])
    await change(mine.id, { progress: 70 })
    expect(read(result.current as never)).toEqual([70])
    expect(renders()).toBe(2)
    const before = result.current
    await change(mine.id, { metadata: { seen: true } })
    await change(other.id, { progress: 50 })
    expect(renders()).toBe(2)
    expect(result.current).toBe(before)
  })

  it('of new arrays within an object renders once per change, and ends', async () => {
    const { mine, other, result, change, renders } = await selected(({ tasks }) => ({
      all: tasks.map(progressOf),
    }))
    expect(result.current).toEqual({ all: [10] })
    await change(other.id, { progress: 50 })
    expect(renders()).toBe(1)
    await change(mine.id, { progress: 70 })
    expect(result.current).toEqual({ all: [70] })
    expect(renders()).toBe(2)
  })

  it('that is another function in the next render is asked again', async () => {
    server.put('alice', { progress: 10 })
    await signIn()
    await until(() => client.store.getState().connection === 'push')
    const { result, rerender } = renderHook(
      ({ factor }) => useRestoredTasks({ select: ({ tasks }) => [(tasks[0]?.progress ?? 0) * factor] }),
      { wrapper: plain, initialProps: { factor: 1 } },
    )
    rerender({ factor: 2 })
    expect(result.current).toEqual([20])
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

type AppTasks = {
  image: { params: { prompt: string }; result: { outputs: { url: string }[] } }
  video: { params: { seconds: number } }
}

describe('useSubmitTask', () => {
  it('is free again as soon as it is written down, and the placeholder is there', async () => {
    const { result } = renderHook(() => ({ ...useSubmitTask(), ...useRestoredTasks() }), { wrapper })
    await signIn()
    let submitting: Promise<unknown> = Promise.resolve()
    act(() => {
      submitting = result.current.submit({ type: 'image', params: {}, placeholderId: 'card' })
    })
    expect(result.current.isSubmitting).toBe(true)
    await act(() => submitting)
    expect(result.current).toMatchObject({ isSubmitting: false, error: null, placeholders: [{ id: 'card' }] })
    await settle(() => result.current.placeholders[0]?.detail === 'waiting')
    expect(result.current.placeholders).toHaveLength(1)
  })

  it('knows the parameters and results of an app’s own catalog', async () => {
    const { result } = renderHook(() => useSubmitTask<AppTasks, 'image'>(), { wrapper })
    await act(signIn)
    const { submit } = result.current
    // @ts-expect-error: a video is not what this hook submits
    const wrongType = () => submit({ type: 'video', params: { prompt: '' } })
    // @ts-expect-error: an image has a prompt
    const wrongParams = () => submit({ type: 'image', params: { seconds: 1 } })
    expect([wrongType, wrongParams]).toHaveLength(2)
    await act(async () => {
      const { task } = await submit({ type: 'image', params: { prompt: 'a lighthouse' } })
      const { params, result: made } = await task
      const prompt: string = params.prompt
      const url: string | undefined = made?.outputs[0]?.url
      expect([prompt, url]).toEqual(['a lighthouse', undefined])
    })
  })

  it('keeps why the server refused', async () => {
    const { result } = renderHook(() => useSubmitTask(), { wrapper })
    await act(signIn)
    server.next('POST /v1/tasks', { kind: 'fail', code: 'INVALID_PARAMS' })
    await act(async () => void (await result.current.submit({ type: 'image', params: {} })))
    await waitFor(() => expect(result.current.error?.code).toBe('INVALID_PARAMS'))
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

describe('useTaskSettled', () => {
  it('calls the newest handler once per task, under StrictMode and with several components', async () => {
    const calls: string[] = []
    const { rerender } = renderHook(
      ({ name }) => useTaskSettled((task) => void calls.push(`${name} ${task.status}`)),
      { wrapper, initialProps: { name: 'old' } },
    )
    await act(signIn)
    await pushing()
    rerender({ name: 'new' })
    const { id } = server.put('alice')
    server.change(id, { status: 'completed' })
    await settle(() => calls.length > 0)
    server.change(id, { messageId: 'm' })
    await settle(() => client.store.getState().tasks[id]?.messageId === 'm')
    expect(calls).toEqual(['new completed'])
  })
})

describe('hydration', () => {
  it('agrees with what the server rendered, then shows what is there', async () => {
    server.put('alice')
    await signIn()
    await until(() => client.store.getState().restore === 'confirmed')
    const page = (
      <HoldfastProvider client={client}>
        <TaskCount />
      </HoldfastProvider>
    )
    const { container, hydrated } = await act(async () => {
      const element = document.createElement('div')
      element.innerHTML = renderToString(page)
      const problems: unknown[] = []
      const before = element.textContent
      hydrateRoot(element, page, { onRecoverableError: (error) => problems.push(error) })
      return { container: element, hydrated: { before, problems } }
    })
    expect(hydrated).toEqual({ before: '0', problems: [] })
    expect(container.textContent).toBe('1')
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
