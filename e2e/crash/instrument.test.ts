import { describe, expect, it } from 'vitest'
import { instrument } from '../../bench/crash/instrument-sources.ts'

describe('putting calls around every await', () => {
  it('leaves strings, comments and for-await alone', () => {
    const source = [
      "const text = 'await nothing' // await nothing",
      'const sql = `await ${text}`',
      'for await (const chunk of stream) text',
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
    const { source } = instrument(
      'a.ts',
      'return async (ask: (n: number) => Promise<number>): Promise<number> => 1 + (await ask(await ask(1))) * 2',
    )
    const run = new Function('__crash', source)({
      before: note('before'),
      during: note('during'),
      after: note('after'),
    })
    const answer = await run(async (n: number) => {
      heard.push(`ask ${n}`)
      return n + 1
    })
    expect(answer).toBe(7)
    expect(
      heard.map((line) => line.replace(/a\.ts:1:\d\d+/, (id) => (id === 'a.ts:1:76' ? 'outer' : 'inner'))),
    ).toEqual([
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
