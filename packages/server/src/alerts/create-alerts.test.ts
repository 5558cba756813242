import { createServer, type Server } from 'node:http'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { createMemoryLog } from '../../test/memory-log.ts'
import type { AlertNotice } from './alert.ts'
import { type Alerts, createAlerts } from './create-alerts.ts'
import { type AlertForm, formOf } from './post-alert.ts'

const notice: AlertNotice = {
  name: 'save-failed',
  key: 'app',
  level: 'critical',
  message: 'Plugin <app> & friends keep failing.',
  details: { taskId: 'task-1', tries: 3 },
}
const HOUR = 60 * 60_000

interface Chat {
  url: string
  posts: { type: string | undefined; body: unknown }[]
}
const closing: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

/** A chat's incoming webhook; `answer` is told how often it was called. */
async function startChat(
  answer: (call: number) => { status: number; text: string } | 'hang up',
): Promise<Chat> {
  const posts: Chat['posts'] = []
  const server: Server = createServer(async (request, response) => {
    let text = ''
    for await (const part of request) text += part
    posts.push({ type: request.headers['content-type'], body: JSON.parse(text) })
    const said = answer(posts.length)
    if (said === 'hang up') request.socket.destroy()
    else response.writeHead(said.status).end(said.text)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  closing.push(() => new Promise((resolve) => server.close(resolve)))
  const address = server.address()
  const port = typeof address === 'object' && address ? address.port : 0
  return { url: `http://127.0.0.1:${port}/hooks/hush-secret`, posts }
}

function open(chat?: Chat, form?: AlertForm): { alerts: Alerts; lines: string[]; clock: { now: number } } {
  const { log, lines } = createMemoryLog()
  const clock = { now: 0 }
  const alerts = createAlerts({
    log,
    now: () => clock.now,
    ...(chat ? { webhook: { url: chat.url, ...(form ? { form } : {}) } } : {}),
  })
  closing.push(() => alerts.close())
  return { alerts, lines, clock }
}
const ok = () => ({ status: 200, text: 'ok' })

describe('alerts (O4, E5)', () => {
  it('are lines of the log that can be searched for', () => {
    const { alerts, lines } = open()
    alerts.alert(notice)
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      {
        level: 50,
        alert: 'CRITICAL',
        name: 'save-failed',
        key: 'app',
        taskId: 'task-1',
        msg: notice.message,
      },
    ])
  })

  it('are told once per name and key, and again after an hour', () => {
    const { alerts, lines, clock } = open()
    for (let times = 0; times < 5; times++) alerts.alert(notice)
    expect(lines).toHaveLength(1)
    alerts.alert({ ...notice, key: 'other' })
    alerts.alert({ ...notice, name: 'mirror-failed' })
    expect(lines).toHaveLength(3)
    clock.now = HOUR - 1
    alerts.alert(notice)
    expect(lines).toHaveLength(3)
    clock.now = HOUR
    alerts.alert(notice)
    expect(lines).toHaveLength(4)
  })

  it('do not fill the memory, whatever they are about', () => {
    const { alerts, lines } = open()
    for (let index = 0; index < 10_001; index++) alerts.alert({ ...notice, key: String(index) })
    const told = lines.length
    alerts.alert({ ...notice, key: '10000' })
    expect(lines).toHaveLength(told)
    // The oldest was forgotten, and is told again.
    alerts.alert({ ...notice, key: '0' })
    expect(lines).toHaveLength(told + 1)
  })

  it.each<[AlertForm, unknown]>([
    [
      'slack',
      {
        text: 'Holdfast CRITICAL save-failed: Plugin &lt;app&gt; &amp; friends keep failing.\ntaskId: task-1\ntries: 3',
      },
    ],
    [
      'dingtalk',
      {
        msgtype: 'text',
        text: {
          content:
            'Holdfast CRITICAL save-failed: Plugin <app> & friends keep failing.\ntaskId: task-1\ntries: 3',
        },
      },
    ],
  ])('are posted to a chat in the form that %s takes', async (form, body) => {
    const chat = await startChat(() => ({ status: 200, text: '{"errcode":0,"errmsg":"ok"}' }))
    const { alerts } = open(chat, form)
    alerts.alert(notice)
    alerts.alert(notice)
    await alerts.close()
    expect(chat.posts).toEqual([{ type: 'application/json', body }])
  })

  it.each([
    ['https://hooks.slack.com/services/T/B/x', 'slack'],
    ['https://chat.example.com/hooks/x', 'slack'],
    ['https://oapi.dingtalk.com/robot/send?access_token=x', 'dingtalk'],
    ['https://dingtalk.com.evil.example/x', 'slack'],
  ] as const)('%s is taken for %s', (url, form) => {
    expect(formOf(url)).toBe(form)
  })

  it('are posted again when the chat does not take them', async () => {
    const chat = await startChat((call) => (call === 1 ? 'hang up' : ok()))
    const { alerts, lines } = open(chat)
    alerts.alert(notice)
    await vi.waitFor(() => expect(chat.posts).toHaveLength(2), { timeout: 5_000 })
    await alerts.close()
    expect(lines).toHaveLength(1)
  })

  it.each<[string, AlertForm, { status: number; text: string } | 'hang up', RegExp]>([
    ['a status', 'slack', { status: 404, text: 'no_service' }, /answered with 404/],
    [
      'a code of DingTalk’s',
      'dingtalk',
      { status: 200, text: '{"errcode":310000}' },
      /refused the alert with code 310000/,
    ],
    ['a broken connection', 'slack', 'hang up', /could not be reached/],
    ['a redirect', 'slack', { status: 302, text: '' }, /could not be reached|answered with 302/],
  ])('refused with %s are said to be so in the log, without the address', async (_, form, said, reason) => {
    const chat = await startChat(() => said)
    const { alerts, lines } = open(chat, form)
    alerts.alert(notice)
    await vi.waitFor(() => expect(chat.posts).toHaveLength(1))
    // A stop does not wait for later tries.
    await alerts.close()
    const log = lines.join('')
    expect(log).toContain('an alert could not be posted')
    expect(log).toMatch(reason)
    expect(log).not.toContain('hush-secret')
  })
})
