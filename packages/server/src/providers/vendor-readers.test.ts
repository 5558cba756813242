import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { ApiReply } from './http-api/api-request.ts'
import { type QueryReading, toQueryOutcome } from './http-api/readings.ts'
import { readGeneration as readAgents } from './luma-agents/read-generation.ts'
import { readGeneration as readDreamMachine } from './luma-dream-machine/read-generation.ts'
import { readVideo } from './openai-videos/read-video.ts'
import { readTask } from './runway/read-task.ts'

const ID = 'id-1'
const now = Date.parse('2026-11-16T08:00:00Z')
const ignore = () => {}

interface Reader {
  name: string
  read(reply: Pick<ApiReply, 'json' | 'now'>): QueryReading
  /** Where the state stands, and the words for it. */
  field: string
  running: string[]
  succeeded: string
  failed: string[]
  /** A reply of success, with a good result in it. */
  success: Record<string, unknown>
}

const url = 'https://files.example/a.mp4'
const readers: Reader[] = [
  {
    name: 'runway',
    read: (reply) => readTask(reply, ID, ignore),
    field: 'status',
    running: ['PENDING', 'THROTTLED', 'RUNNING', 'POLISHING'],
    succeeded: 'SUCCEEDED',
    failed: ['FAILED'],
    success: { output: [url] },
  },
  {
    name: 'luma-agents',
    read: (reply) => readAgents(reply, ID, ignore),
    field: 'state',
    running: ['queued', 'processing', 'polishing'],
    succeeded: 'completed',
    failed: ['failed'],
    success: { output: [{ type: 'video', url }] },
  },
  {
    name: 'luma-dream-machine',
    read: (reply) => readDreamMachine(reply, ID, ignore),
    field: 'state',
    running: ['queued', 'dreaming', 'polishing'],
    succeeded: 'completed',
    failed: ['failed'],
    success: { assets: { video: url, progress_video: 'https://files.example/preview.mp4' } },
  },
  {
    name: 'openai-videos',
    read: (reply) => readVideo(reply, ID, { contentUrl: () => url, urlLifetimeMs: 1, unknownStatus: ignore }),
    field: 'status',
    running: ['queued', 'in_progress', 'polishing'],
    succeeded: 'completed',
    failed: ['failed', 'expired'],
    success: {},
  },
]

describe.each(readers)('what $name says', ({ read, field, running, succeeded, failed, success }) => {
  const outcome = (json: unknown) => toQueryOutcome(read({ json, now }), 1)

  test.each(running)('P4 %s is running', (word) => {
    expect(outcome({ id: ID, [field]: word })).toEqual({ kind: 'running', progress: null })
  })

  test('P4 success has its file, and that only', () => {
    const done = outcome({ id: ID, [field]: succeeded, ...success })
    expect(done).toMatchObject({ kind: 'succeeded', outputs: [{ url, contentType: 'video/mp4' }] })
    expect(done?.kind === 'succeeded' && done.outputs).toHaveLength(1)
  })

  test.each(failed)('P4 %s is failed, with a sentence for the user', (word) => {
    expect(outcome({ id: ID, [field]: word })).toMatchObject({
      kind: 'failed',
      code: 'PROVIDER_FAILED',
      message: expect.stringMatching(/^The generation failed at the service.*\.$/),
    })
  })

  test.each([undefined, null, 'text', [], {}, { id: ID }, { id: 'id-2', [field]: succeeded, ...success }])(
    'P4 %j is no word about this task',
    (json) => {
      expect(() => outcome(json)).toThrow()
    },
  )

  test('P4 whatever it says, a task ends only by a word that ends it', () => {
    const word = fc.oneof(fc.constantFrom(...running, succeeded, ...failed), fc.jsonValue())
    const names = [
      ...['output', 'assets', 'progress', 'error', 'expires_at'],
      ...['failure', 'failureCode', 'failure_reason', 'failure_code'],
    ]
    const rest = fc.dictionary(fc.constantFrom(...names), fc.jsonValue())
    fc.assert(
      fc.property(word, rest, fc.boolean(), (said, more, isGood) => {
        let told: ReturnType<typeof outcome>
        try {
          told = outcome({ ...more, id: ID, [field]: said, ...(isGood ? success : {}) })
        } catch {
          return
        }
        if (told?.kind === 'succeeded') {
          expect(said).toBe(succeeded)
          for (const output of told.outputs) expect(output.url).toMatch(/^https?:\/\//i)
        }
        // A video whose bytes are gone has failed, too.
        if (told?.kind === 'failed') expect([...failed, succeeded]).toContain(said)
        if (told?.kind === 'running' && told.progress !== null) {
          expect(told.progress >= 0 && told.progress <= 100).toBe(true)
        }
      }),
      { numRuns: 500 },
    )
  })
})
