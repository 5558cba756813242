import { describe, expect, it } from 'vitest'
import { instrument } from '../../bench/crash/instrument-sources.ts'

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
