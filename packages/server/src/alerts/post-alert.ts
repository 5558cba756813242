import { setTimeout as sleep } from 'node:timers/promises'
import type { AlertNotice } from './alert.ts'

export interface AlertWebhook {
  /** A secret: whoever has it can write into the chat. Never logged. */
  url: string
  /** @default 'dingtalk' for an address of dingtalk.com, else 'slack', which most other chats take too */
  form?: AlertForm
}

export type AlertForm = 'slack' | 'dingtalk'

const PAUSES_MS = [1_000, 5_000]
const CALL_LIMIT_MS = 10_000

export interface PostAlertOptions {
  webhook: AlertWebhook
  fetch: typeof fetch
  /** Aborted when the process stops: what is being sent is seen through, but not tried again. */
  until: AbortSignal
}

/** Posts an alert to a chat, again if it does not take it. Throws when it never does, without naming the address. */
export async function postAlert(notice: AlertNotice, options: PostAlertOptions): Promise<void> {
  for (let attempt = 0; ; attempt++) {
    try {
      return await post(notice, options)
    } catch (error) {
      const pause = PAUSES_MS[attempt]
      if (pause === undefined || options.until.aborted) throw error
      // An abort only ends the pause: one last try follows.
      await sleep(pause, undefined, { signal: options.until }).catch(() => {})
    }
  }
}

async function post(notice: AlertNotice, { webhook, fetch: send }: PostAlertOptions): Promise<void> {
  const form = webhook.form ?? formOf(webhook.url)
  let answer: { status: number; text: string }
  try {
    const response = await send(webhook.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(bodyOf(notice, form)),
      redirect: 'error',
      signal: AbortSignal.timeout(CALL_LIMIT_MS),
    })
    answer = { status: response.status, text: await response.text() }
  } catch (error) {
    // What `fetch` says may name the address, so only its kind is passed on.
    throw new Error(
      `The alert webhook could not be reached (${error instanceof Error ? error.name : 'error'}).`,
    )
  }
  if (answer.status < 200 || answer.status > 299) {
    throw new Error(`The alert webhook answered with ${answer.status}.`)
  }
  const refusal = form === 'dingtalk' ? dingTalkRefusal(answer.text) : null
  if (refusal !== null) throw new Error(`DingTalk refused the alert with code ${refusal}.`)
}

export function formOf(url: string): AlertForm {
  const host = URL.canParse(url) ? new URL(url).hostname : ''
  return host === 'dingtalk.com' || host.endsWith('.dingtalk.com') ? 'dingtalk' : 'slack'
}

/** The body of a post. The word Holdfast is always in it: a DingTalk robot can be told to take nothing without a keyword. */
function bodyOf(notice: AlertNotice, form: AlertForm): unknown {
  const details = Object.entries(notice.details ?? {}).map(([name, value]) => `${name}: ${value}`)
  const text = [`Holdfast ${notice.level.toUpperCase()} ${notice.name}: ${notice.message}`, ...details].join(
    '\n',
  )
  return form === 'dingtalk'
    ? { msgtype: 'text', text: { content: text } }
    : // Slack reads these three as markup: https://docs.slack.dev/messaging/formatting-message-text
      { text: text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;') }
}

/** DingTalk says no with a status of 200 and an `errcode` other than 0. */
function dingTalkRefusal(text: string): string | null {
  try {
    const answer: unknown = JSON.parse(text)
    const code = typeof answer === 'object' && answer !== null && 'errcode' in answer ? answer.errcode : 0
    return code === 0 ? null : String(code)
  } catch {
    // Whatever it said, it took the post.
    return null
  }
}
