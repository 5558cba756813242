import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import {
  type Conversation,
  isNewer,
  isTerminal,
  nameChange,
  PROBLEMS,
  type Problem,
  type ProblemCode,
  type StreamEnd,
  type Task,
} from '@holdfast/shared'

/** A request as the server saw it. */
export interface SeenRequest {
  method: string
  path: string
  headers: IncomingMessage['headers']
  body: Record<string, unknown>
  status: number | null
}

interface Stream {
  user: string
  response: ServerResponse
  browser: string | undefined
  epoch: number
}

/** What may happen to a request instead of an answer, or before it. */
type Mishap =
  | { kind: 'refuse' }
  /** The work is done, and the answer lost on the way. */
  | { kind: 'lose-answer' }
  | { kind: 'fail'; code: ProblemCode; retryAfter?: number }
  | { kind: 'hold'; until: Promise<void> }

/**
 * The HTTP contract, in memory, over real sockets: what the client meets in production, less the generating.
 * Tokens are `<user>` or `<user>.<anything>`.
 */
export async function startContractServer() {
  const tasks = new Map<string, { task: Task; user: string; changed: number }>()
  const conversations = new Map<string, { conversation: Conversation; user: string; changed: number }>()
  const keys = new Map<string, string>()
  const streams = new Set<Stream>()
  const requests: SeenRequest[] = []
  const refusedTokens = new Set<string>()
  const mishaps = new Map<string, Mishap[]>()
  let sequence = 1
  let down = false
  let muteStreams = false
  let clockAhead = 0

  const http = createServer((request, response) => {
    answer(request, response).catch((error) => response.destroy(error))
  })
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}`

  const now = () => new Date(Date.now() + clockAhead).toISOString()

  async function answer(request: IncomingMessage, response: ServerResponse) {
    const { pathname, searchParams } = new URL(request.url ?? '', url)
    const method = request.method ?? ''
    response.setHeader('Access-Control-Allow-Origin', '*')
    response.setHeader('Access-Control-Allow-Headers', '*, Authorization')
    if (method === 'OPTIONS') return void response.writeHead(204).end()
    if (down) return void request.socket.destroy()
    let text = ''
    for await (const chunk of request) text += chunk
    const body: Record<string, unknown> = text ? JSON.parse(text) : {}
    const seen: SeenRequest = { method, path: pathname, headers: request.headers, body, status: null }
    requests.push(seen)

    const send = (status: number, value: unknown) => {
      seen.status = status
      response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(value))
    }
    const refuse = (code: ProblemCode) => {
      const { status, title } = PROBLEMS[code]
      const problem: Problem = {
        type: 'about:blank',
        title,
        status,
        code,
        detail: `${title}.`,
        traceId: 'trace-1',
      }
      send(status, problem)
    }

    const mishap = mishaps.get(`${method} ${pathname}`)?.shift()
    if (mishap?.kind === 'refuse') return void request.socket.destroy()
    if (mishap?.kind === 'fail') {
      if (mishap.retryAfter !== undefined) response.setHeader('Retry-After', mishap.retryAfter)
      return refuse(mishap.code)
    }
    if (mishap?.kind === 'hold') await mishap.until

    const token = request.headers.authorization?.replace('Bearer ', '')
    if (!token) return refuse('UNAUTHENTICATED')
    if (refusedTokens.has(token)) return refuse('TOKEN_EXPIRED')
    const user = token.split('.')[0] ?? ''

    const [, , resource, id, verb] = pathname.split('/')
    if (resource === 'stream') return openStream(request, response, user, seen, refuse)
    if (resource === 'sync') return send(200, syncFor(user, body))
    if (resource === 'tasks' && method === 'POST' && (!id || verb === 'retry')) {
      const key = `${user} ${request.headers['idempotency-key']}`
      const known = keys.get(key)
      const original = id ? owned(user, id) : undefined
      if (id && !original) return refuse('NOT_FOUND')
      const task = known
        ? tasks.get(known)?.task
        : put(user, original ? retryOf(original) : taskOf(user, body))
      if (!task) return refuse('INTERNAL')
      keys.set(key, task.id)
      if (mishap?.kind === 'lose-answer') return void request.socket.destroy()
      return send(known ? 200 : 201, { task })
    }
    if (resource === 'tasks' && id && verb === 'cancel') {
      const task = owned(user, id)
      if (!task) return refuse('NOT_FOUND')
      if (isTerminal(task.status)) return refuse('TASK_ALREADY_ENDED')
      return send(200, { task: change(id, { status: 'cancelled' }) })
    }
    if (resource === 'tasks' && id && verb === 'save') {
      const task = owned(user, id)
      return task ? send(200, { task: change(id, { messageId: 'message-saved' }) }) : refuse('NOT_FOUND')
    }
    if (resource === 'tasks' && method === 'GET') {
      const all = [...tasks.values()].filter((entry) => entry.user === user).map(({ task }) => task)
      const wanted = searchParams.get('status') ?? 'active'
      const listed = all.filter(
        (task) => wanted === 'all' || isTerminal(task.status) === (wanted === 'settled'),
      )
      const from = Number(searchParams.get('cursor') ?? 0)
      // Pages of two, so that there are some.
      return send(200, {
        tasks: listed.slice(from, from + 2),
        nextCursor: listed.length > from + 2 ? String(from + 2) : null,
      })
    }
    if (resource === 'conversations' && id && verb === 'messages') {
      const page = Number(searchParams.get('cursor') ?? 0)
      return send(200, {
        messages: [{ id: `message-${page}`, conversationId: id }],
        nextCursor: page < 2 ? String(page + 1) : null,
      })
    }
    if (resource === 'conversations' && id && verb === 'read') {
      const held = conversations.get(id)
      if (held?.user !== user) return refuse('NOT_FOUND')
      const conversation =
        held.conversation.unread > 0 ? changeConversation(id, { unread: 0 }) : held.conversation
      return send(200, { conversation, unreadConversations: conversationsOf(user).unreadConversations })
    }
    if (resource === 'conversations' && method === 'POST') {
      return send(201, { conversation: putConversation(user, body as Partial<Conversation>) })
    }
    if (resource === 'conversations') return send(200, conversationsOf(user))
    refuse('NOT_FOUND')
  }

  function taskOf(user: string, { conversation, ...body }: Record<string, unknown>): Partial<Task> {
    if (!conversation) return body
    return { ...body, conversationId: putConversation(user, conversation as Partial<Conversation>).id }
  }

  /** Gives the user a conversation, as if it came from another device; with a known id, the one there is. */
  function putConversation(user: string, given: Partial<Conversation> = {}): Conversation {
    const known = conversations.get(given.id ?? '')
    if (known) return known.conversation
    return storeConversation(user, {
      id: randomUUID(),
      title: 'foxes',
      unread: 0,
      lastMessageAt: null,
      createdAt: now(),
      version: 1,
      ...given,
    })
  }

  function changeConversation(id: string, patch: Partial<Conversation>): Conversation {
    const held = conversations.get(id)
    if (!held) throw new Error(`no conversation ${id}`)
    const { conversation, user } = held
    return storeConversation(user, { ...conversation, ...patch, version: conversation.version + 1 })
  }

  function storeConversation(user: string, conversation: Conversation): Conversation {
    conversations.set(conversation.id, { conversation, user, changed: ++sequence })
    const { unreadConversations } = conversationsOf(user)
    const news = { conversations: [conversation], unreadConversations }
    for (const stream of streams) if (stream.user === user) sendEvent(stream, 'conversations', news, false)
    return conversation
  }

  function conversationsOf(user: string, since = 0) {
    const mine = [...conversations.values()].filter((entry) => entry.user === user)
    return {
      conversations: mine.filter(({ changed }) => changed >= since).map(({ conversation }) => conversation),
      unreadConversations: mine.filter(({ conversation }) => conversation.unread > 0).length,
    }
  }

  function owned(user: string, id: string) {
    const entry = tasks.get(id)
    return entry?.user === user ? entry.task : undefined
  }

  function retryOf(task: Task): Partial<Task> {
    const { type, params, conversationId, placeholderId } = task
    return { type, params, conversationId, placeholderId, retryOf: task.id }
  }

  function syncFor(user: string, body: { known?: unknown; cursor?: unknown }) {
    const known = (body.known ?? {}) as Record<string, [number, number | null]>
    const since = Number(body.cursor ?? 0)
    const dayAgo = Date.now() - 86_400_000
    const mine = [...tasks.values()].filter((entry) => entry.user === user)
    return {
      tasks: mine
        .filter(({ task, changed }) => {
          const [version, progress] = known[task.id] ?? []
          if (version !== undefined) return isNewer(task, { version, progress: progress ?? null })
          return since > 0 ? changed >= since : !task.finishedAt || Date.parse(task.finishedAt) > dayAgo
        })
        .map(({ task }) => task),
      gone: Object.keys(known).filter((id) => !owned(user, id)),
      ...conversationsOf(user, since),
      cursor: String(sequence),
      now: now(),
    }
  }

  function openStream(
    request: IncomingMessage,
    response: ServerResponse,
    user: string,
    seen: SeenRequest,
    refuse: (code: ProblemCode) => void,
  ) {
    const browser = request.headers['x-holdfast-browser']?.toString()
    const stream: Stream = { user, response, browser, epoch: Number(request.headers['x-holdfast-epoch']) }
    const before = [...streams].find((other) => other.browser === browser && other.user === user)
    if (before && before.epoch > stream.epoch) return refuse('SUPERSEDED')
    seen.status = 200
    response.writeHead(200, { 'Content-Type': 'text/event-stream' })
    response.flushHeaders()
    if (before) endStream(before, 'superseded')
    streams.add(stream)
    response.on('close', () => streams.delete(stream))
    if (!muteStreams)
      sendEvent(stream, 'snapshot', syncFor(user, { cursor: request.headers['last-event-id'] }))
  }

  function endStream(stream: Stream, reason: StreamEnd) {
    sendEvent(stream, 'end', { reason })
    stream.response.end()
    streams.delete(stream)
  }

  function sendEvent({ response }: Stream, event: string, data: unknown, hasId = true) {
    const id = hasId ? `id: ${sequence}\n` : ''
    response.write(`${id}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`)
  }

  function store(user: string, task: Task, before: Task | undefined) {
    tasks.set(task.id, { task, user, changed: ++sequence })
    for (const stream of streams) {
      if (stream.user === user) sendEvent(stream, 'task', { task, change: nameChange(before, task) })
    }
    return task
  }

  /** Gives the user a task, as if it came from another device. */
  function put(user: string, given: Partial<Task> = {}): Task {
    const at = now()
    const task: Task = {
      id: randomUUID(),
      type: 'image',
      provider: 'kie',
      status: 'pending',
      progress: null,
      queuePosition: null,
      params: {},
      result: null,
      failure: null,
      conversationId: null,
      placeholderId: null,
      messageId: null,
      saveState: 'none',
      parentId: null,
      retryOf: null,
      credits: { held: 0, spent: 0, returned: 0 },
      estimatedAt: null,
      lane: 'free_default',
      priority: 5,
      metadata: {},
      attempts: 0,
      lastError: null,
      nextAttemptAt: null,
      version: 1,
      createdAt: at,
      startedAt: null,
      finishedAt: null,
      deadlineAt: null,
      updatedAt: at,
      ...given,
    }
    return store(user, task, undefined)
  }

  function change(id: string, patch: Partial<Task>): Task {
    const entry = tasks.get(id)
    if (!entry) throw new Error(`no task ${id}`)
    const { task } = entry
    const finishedAt = patch.status && isTerminal(patch.status) ? now() : task.finishedAt
    return store(entry.user, { ...task, finishedAt, ...patch, version: task.version + 1 }, task)
  }

  /** Files get addresses that work longer, as in every answer of the server: no new state of the task. */
  function signAnew(id: string, result: Task['result']) {
    const entry = tasks.get(id)
    if (entry) entry.task = { ...entry.task, result }
  }

  return {
    url,
    requests,
    streams,
    put,
    change,
    putConversation,
    changeConversation,
    /** Says something on the user's streams that is no part of the contract yet. */
    say(user: string, event: string, data: unknown) {
      for (const stream of streams) if (stream.user === user) sendEvent(stream, event, data, false)
    },
    signAnew,
    count: (method: string, path: string) =>
      requests.filter((request) => request.method === method && request.path === path).length,
    created: () => tasks.size,
    remove: (id: string) => void tasks.delete(id),
    refuseToken: (token: string) => void refusedTokens.add(token),
    /** What happens to the next requests of this kind, one each. */
    next(request: string, ...what: Mishap[]) {
      mishaps.set(request, [...(mishaps.get(request) ?? []), ...what])
    },
    /** Connections are refused and open ones break. */
    goDown() {
      down = true
      http.closeAllConnections()
    },
    comeUp() {
      down = false
    },
    /** Streams open but nothing comes through, as behind a proxy that collects answers. */
    muteStreams(mute: boolean) {
      muteStreams = mute
    },
    endStreams(reason: StreamEnd) {
      for (const stream of streams) endStream(stream, reason)
    },
    breakStreams() {
      for (const stream of streams) stream.response.destroy()
    },
    heartbeat() {
      for (const { response } of streams) response.write(': still here\n\n')
    },
    setClockAhead(ms: number) {
      clockAhead = ms
    },
    async stop() {
      http.closeAllConnections()
      await new Promise((resolve) => http.close(resolve))
    },
  }
}

export type ContractServer = Awaited<ReturnType<typeof startContractServer>>
