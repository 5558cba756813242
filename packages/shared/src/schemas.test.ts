import { describe, expect, it } from 'vitest'
import {
  createConversationBody,
  createTaskBody,
  creditAuditQuery,
  creditGrantBody,
  creditRefundBody,
  creditsQuery,
  devLoginBody,
  listMessagesQuery,
  listTasksQuery,
  syncBody,
} from './schemas.ts'

const id = '0199d2a0-0000-7000-8000-000000000001'
const NUL = '\u0000'

describe('createTaskBody', () => {
  const body = { type: 'image', params: { prompt: 'a fox' } }

  it.each<[string, unknown]>([
    ['the least', body],
    ['no params at all', { ...body, params: {} }],
    [
      'everything',
      { ...body, conversationId: id, placeholderId: 'p', priority: 'urgent', metadata: { a: [1, null, {}] } },
    ],
    ['null for what is optional (F14)', { ...body, conversationId: null, placeholderId: null }],
    ['a conversation to be made', { ...body, conversation: { id, title: 'foxes' } }],
    ['its id twice', { ...body, conversationId: id, conversation: { id, title: 'foxes' } }],
  ])('takes %s', (_, value) => {
    expect(createTaskBody.safeParse(value).success).toBe(true)
  })

  it.each<[string, unknown]>([
    ['nothing', undefined],
    ['null', null],
    ['a list', [body]],
    ['a missing type', { params: {} }],
    ['an empty type', { ...body, type: '' }],
    ['a type that is too long', { ...body, type: 'x'.repeat(101) }],
    ['missing params', { type: 'image' }],
    ['params that are a list', { ...body, params: [] }],
    ['params that are not JSON', { ...body, params: { when: new Date() } }],
    ['a number that JSON cannot hold', { ...body, params: { n: Number.POSITIVE_INFINITY } }],
    ['a conversation id that is none', { ...body, conversationId: 'mine' }],
    ['a conversation without an id', { ...body, conversation: { title: 'foxes' } }],
    ['a conversation whose id is none', { ...body, conversation: { id: 'mine', title: 'foxes' } }],
    ['a conversation without a title', { ...body, conversation: { id } }],
    ['a conversation with a blank title', { ...body, conversation: { id, title: '  ' } }],
    ['a title that is too long', { ...body, conversation: { id, title: 'x'.repeat(201) } }],
    ['a title with U+0000', { ...body, conversation: { id, title: NUL } }],
    ['null for a conversation', { ...body, conversation: null }],
    [
      'two conversations',
      { ...body, conversationId: id.replace(/1$/, '2'), conversation: { id, title: 'foxes' } },
    ],
    ['an empty placeholder', { ...body, placeholderId: '' }],
    ['a placeholder that is too long', { ...body, placeholderId: 'x'.repeat(201) }],
    ['a placeholder with U+0000', { ...body, placeholderId: NUL }],
    ['a priority that there is not', { ...body, priority: 'asap' }],
    ['a priority by number', { ...body, priority: 5 }],
    ['a field that there is not', { ...body, status: 'completed' }],
    ['a user of the caller’s choice', { ...body, userId: 'someone' }],
  ])('refuses %s', (_, value) => {
    expect(createTaskBody.safeParse(value).success).toBe(false)
  })
})

describe('listTasksQuery', () => {
  it('asks for 50 tasks unless told otherwise, and leaves which ones to the list', () => {
    expect(listTasksQuery.parse({})).toEqual({ limit: 50 })
  })

  it('takes several statuses, exact ones among them, and a type', () => {
    expect(listTasksQuery.parse({ status: 'failed,cancelled', type: 'image' })).toMatchObject({
      status: ['failed', 'cancelled'],
      type: 'image',
    })
  })

  it('reads numbers from the query string', () => {
    expect(listTasksQuery.parse({ limit: '7', status: 'all', conversationId: id })).toEqual({
      limit: 7,
      status: ['all'],
      conversationId: id,
    })
  })

  it.each([
    { limit: '0' },
    { limit: '201' },
    { limit: '1.5' },
    { limit: '' },
    { limit: 'ten' },
    { status: 'done' },
    { status: '' },
    { status: 'failed,' },
    { status: 'failed, done' },
    { status: Array(21).fill('failed').join() },
    { type: '' },
    { type: 'a\u0000b' },
    { type: 'x'.repeat(101) },
    { conversationId: '1' },
    { cursor: 'x'.repeat(201) },
  ])('refuses %j', (query) => {
    expect(listTasksQuery.safeParse(query).success).toBe(false)
  })
})

describe('listMessagesQuery', () => {
  it('asks for 100 messages unless told otherwise', () => {
    expect(listMessagesQuery.parse({})).toEqual({ limit: 100 })
  })

  it.each([{ limit: '0' }, { limit: '201' }, { cursor: 'x'.repeat(201) }])('refuses %j', (query) => {
    expect(listMessagesQuery.safeParse(query).success).toBe(false)
  })
})

describe('syncBody', () => {
  it('may be empty: then nothing is known', () => {
    expect(syncBody.parse({})).toEqual({ known: {} })
  })

  it('takes what the caller holds', () => {
    const body = { known: { [id]: [3, null] }, cursor: '77' }
    expect(syncBody.parse(body)).toEqual(body)
  })

  it('takes 2000 tasks and no more', () => {
    const known = (count: number) =>
      Object.fromEntries(
        Array.from({ length: count }, (_, n) => [
          `0199d2a0-0000-7000-8000-${String(n).padStart(12, '0')}`,
          [1, null],
        ]),
      )
    expect(syncBody.safeParse({ known: known(2000) }).success).toBe(true)
    expect(syncBody.safeParse({ known: known(2001) }).success).toBe(false)
  })

  it.each<[string, unknown]>([
    ['an id that is none', { known: { mine: [1, null] } }],
    ['a negative version', { known: { [id]: [-1, null] } }],
    ['a broken version', { known: { [id]: [1.5, null] } }],
    ['a progress over 100', { known: { [id]: [1, 101] } }],
    ['a missing progress', { known: { [id]: [1] } }],
    ['a cursor that is a number', { cursor: 77 }],
    ['a field that there is not', { since: 1 }],
  ])('refuses %s', (_, value) => {
    expect(syncBody.safeParse(value).success).toBe(false)
  })
})

describe('createConversationBody and devLoginBody', () => {
  it('trim what a person typed', () => {
    expect(createConversationBody.parse({ title: '  foxes ' })).toEqual({ title: 'foxes' })
    expect(devLoginBody.parse({ user: ' ada ' })).toEqual({ user: 'ada' })
  })

  it.each([
    { title: '' },
    { title: '  ' },
    { title: NUL },
    { title: 'x'.repeat(201) },
    { title: 'a', id: 'b' },
  ])('refuse the title %j', (body) => {
    expect(createConversationBody.safeParse(body).success).toBe(false)
  })

  it.each([
    {},
    { user: '' },
    { user: ' ' },
    { user: NUL },
    { user: 'x'.repeat(101) },
    { user: 'a', role: 'admin' },
  ])('refuse the log-in %j', (body) => {
    expect(devLoginBody.safeParse(body).success).toBe(false)
  })
})

describe('credits', () => {
  const grant = { userId: 'auth0|5f', amount: 5, reason: ' a prize ' }
  const refund = { taskId: id, reason: 'six fingers' }

  it('take what is documented, and defaults for the rest', () => {
    expect(creditGrantBody.parse(grant)).toEqual({ ...grant, reason: 'a prize' })
    expect(creditRefundBody.parse(refund)).toEqual(refund)
    expect(creditsQuery.parse({})).toEqual({ limit: 50 })
    expect(creditAuditQuery.parse({ userId: 'ada', limit: '7' })).toEqual({ userId: 'ada', limit: 7 })
  })

  it.each<[string, unknown]>([
    ['nobody', { ...grant, userId: '' }],
    ['a user that cannot be stored', { ...grant, userId: NUL }],
    ['nothing', { ...grant, amount: 0 }],
    ['less than nothing', { ...grant, amount: -1 }],
    ['a part of a credit', { ...grant, amount: 1.5 }],
    ['more than anybody has', { ...grant, amount: 1_000_000_001 }],
    ['text for a number', { ...grant, amount: '5' }],
    ['no reason', { ...grant, reason: ' ' }],
    ['a reason that cannot be stored', { ...grant, reason: NUL }],
    ['a reason without end', { ...grant, reason: 'x'.repeat(501) }],
    ['what is not asked for', { ...grant, kind: 'adjust' }],
  ])('refuse to grant %s', (_, body) => {
    expect(creditGrantBody.safeParse(body).success).toBe(false)
  })

  it.each([{}, { ...refund, taskId: 'x' }, { ...refund, reason: '' }, { ...refund, amount: 5 }])(
    'refuse the refund %j',
    (body) => {
      expect(creditRefundBody.safeParse(body).success).toBe(false)
    },
  )

  it.each([{ cursor: 'x' }, { limit: '0' }, { limit: '201' }, { taskId: 'x' }, { userId: '' }])(
    'refuse the page %j',
    (query) => {
      expect(creditAuditQuery.safeParse(query).success).toBe(false)
    },
  )
})
