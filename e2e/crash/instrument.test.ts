import { describe, expect, it } from 'vitest'
import { findStale } from '../../bench/crash/find-stale.ts'
import { instrument, instrumentSources } from '../../bench/crash/instrument-sources.ts'
import { findIdleGlobs, isCovered } from '../../bench/crash/left-out.ts'
import { findIdlePlaces, whyUnreached } from '../../bench/crash/unreached.ts'

describe('putting calls around every await', () => {
  it('leaves strings, comments and for-await alone', () => {
    const source = [
      "const text = 'await nothing' // await nothing",
      'const long = `await nothing`',
      'export async function read() { for await (const chunk of text) long }',
    ].join('\n')
    expect(instrument('a.ts', source)).toEqual({ points: [], source })
  })

  it('names each by file and line, and by column where a line has several', () => {
    const { points } = instrument('a.ts', 'await one()\nawait two(await three())\n')
    expect(points.map(({ id }) => id)).toEqual(['a.ts:1', 'a.ts:2:1', 'a.ts:2:11'])
  })

  it('keeps the order of evaluation and what is awaited', async () => {
    const heard: string[] = []
    const note = (moment: string) => (point: string, value?: unknown) => {
      heard.push(`${moment} ${point}`)
      return value
    }
    const { points, source } = instrument(
      'a.ts',
      'const run = async (ask: (n: number) => Promise<number>): Promise<number> => 1 + (await ask(await ask(1))) * 2',
    )
    const run = new Function('__crash', `${source}\nreturn run`)({
      before: note('before'),
      during: note('during'),
      after: note('after'),
    })
    const answer = await run(async (n: number) => {
      heard.push(`ask ${n}`)
      return n + 1
    })
    expect(answer).toBe(7)
    const [outer = '', inner = ''] = points.map(({ id }) => id)
    const named = heard.map((line) => line.replace(outer, 'outer').replace(inner, 'inner'))
    expect(named).toEqual([
      'before outer',
      'before inner',
      'ask 1',
      'during inner',
      'after inner',
      'ask 2',
      'during outer',
      'after outer',
    ])
  })
})

describe('what the crash proof covers', () => {
  it('names nothing that is not there any more: no file, no await, no scenario looks into the void', async () => {
    const { files, points } = await instrumentSources()
    expect(findStale(files, points)).toEqual([])
  })

  it('is every file but those in the list, wherever it is', () => {
    expect(isCovered('work/send/run-send.ts')).toBe(true)
    expect(isCovered('anywhere/at-all.ts')).toBe(true)
    expect(isCovered('work/send/run-send.test.ts')).toBe(false)
    expect(isCovered('providers/kie/simulator/callbacks.ts')).toBe(false)
  })

  it('is told when a part of that list leaves nothing out, or a reason is given for no await', async () => {
    const { files, points } = await instrumentSources()
    const moved = files.map((file) => file.replace(/^cli\//, 'commands/'))
    expect(findIdleGlobs(moved)).toEqual(['cli/**'])
    const renamed = points.filter(({ id }) => !id.startsWith('auth/jwt-authenticate.ts'))
    expect(findIdlePlaces(renamed)).toEqual(['"auth/jwt-authenticate.ts"'])
    expect(whyUnreached({ id: 'work/send/run-send.ts:7', text: 'await send()' })).toBeUndefined()
  })
})
