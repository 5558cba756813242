import { signToken } from '../../packages/server/test/test-tokens.ts'
import { cpuSecondsOf } from '../poll/cpu-seconds-of.ts'
import { createFindings } from '../poller/finding.ts'
import { median } from '../stream/percentile.ts'
import type { DoorsLab } from './doors-lab.ts'

const USER = 'largest'
const ROUNDS = 21

/** What one task of `serve`'s own types may have at most, in forms that are carried in short, and whole. */
const LARGEST = [
  { params: { prompt: 'x'.repeat(4_000) }, metadata: { note: 'x'.repeat(4_080) } },
  { params: { prompt: '狐'.repeat(4_000) }, metadata: { note: 'x'.repeat(4_080) } },
  { params: { prompt: 'x'.repeat(4_000) }, metadata: { note: 'x'.repeat(1_500) } },
]

/** One user with all that the limits allow: what lists, sync and a stream's first state then weigh, and take. */
export async function runLargestUser({ server, sql }: DoorsLab) {
  const found = createFindings('largest user')
  const headers = {
    authorization: `Bearer ${await signToken(USER)}`,
    'content-type': 'application/json',
  }
  // A hundred that have ended, then a hundred that have not, and no more.
  for (const isEnded of [true, false]) {
    for (let n = 0; n < 100; n += 1) {
      const body = JSON.stringify({ type: 'image', ...LARGEST[n % LARGEST.length] })
      const answer = await fetch(`${server.url}/v1/tasks`, { method: 'POST', headers, body })
      if (answer.status !== 201) throw new Error(`${answer.status}: ${await answer.text()}`)
      await answer.body?.cancel()
    }
    if (isEnded) {
      await sql`
        update holdfast.tasks set status = 'failed', finished_at = now(), failure_code = 'PROVIDER_FAILED',
          failure_message = ${'x'.repeat(300)}, failure_retryable = true
        where user_id = ${USER}
      `
    }
  }
  // More than are told, with the longest titles.
  await sql`
    insert into holdfast.conversations (user_id, title, unread_count)
    select ${USER}, ${'狐'.repeat(200)}, n % 2 from generate_series(1, 600) n
  `
  const more = JSON.stringify({ type: 'image', params: { prompt: 'one more' } })
  const refused = await fetch(`${server.url}/v1/tasks`, { method: 'POST', headers, body: more })
  found.equal('the 101st unfinished task', refused.status, 429)

  const questions: Record<string, () => Promise<number>> = {
    list: async () => whole(await fetch(`${server.url}/v1/tasks?status=all&limit=200`, { headers })),
    sync: async () => whole(await fetch(`${server.url}/v1/sync`, { method: 'POST', headers, body: '{}' })),
    stream: async () => firstEvent(await fetch(`${server.url}/v1/stream`, { headers })),
  }
  const figures: Record<string, { kb: number; ms: number; cpuMs: number }> = {}
  for (const [name, ask] of Object.entries(questions)) {
    const times: number[] = []
    let bytes = 0
    const before = await cpuMsOf(server.pid)
    for (let n = 0; n < ROUNDS; n += 1) {
      const began = performance.now()
      bytes = await ask()
      times.push(performance.now() - began)
    }
    // What the server itself takes of it, whatever else the machine does.
    const cpuMs = ((await cpuMsOf(server.pid)) - before) / ROUNDS
    figures[name] = { kb: Math.round(bytes / 1_000), ms: round(median(times)), cpuMs: round(cpuMs) }
    found.atMost(`${name}, kB`, bytes / 1_000, 1_500)
    found.atMost(`${name}, median ms`, median(times), 50)
  }
  return { found: found.all, figures }
}

async function whole(response: Response): Promise<number> {
  return (await response.arrayBuffer()).byteLength
}

async function firstEvent(response: Response): Promise<number> {
  const reader = response.body?.getReader()
  const decoder = new TextDecoder()
  let bytes = 0
  let end = ''
  while (reader && !end.includes('\n\n')) {
    const { done, value } = await reader.read()
    if (done) break
    bytes += value.byteLength
    end = (end + decoder.decode(value, { stream: true })).slice(-100)
  }
  await reader?.cancel()
  return bytes
}

const cpuMsOf = async (pid: number) => ((await cpuSecondsOf(pid)) ?? Number.NaN) * 1_000
const round = (value: number) => Math.round(value * 10) / 10
