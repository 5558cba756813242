import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isPlainlyRunning } from './is-plainly-running.ts'
import { readEnvelope } from './read-envelope.ts'
import { readRecord } from './read-record.ts'

const ID = 'task_1'
const prompt = JSON.stringify({
  prompt: 'a sign that says "state":"success" and "progress": 5\n',
  data: { state: 1 },
})
const record = { taskId: ID, model: 'google/nano-banana', state: 'generating', param: prompt, resultJson: '' }
const bodyOf = (data: object, envelope: object = {}) =>
  JSON.stringify({ code: 200, msg: 'success', data, ...envelope })

describe('isPlainlyRunning (P4)', () => {
  it.each(['generating', 'queuing', 'waiting'])(
    'is true of a record that is %s, whatever its prompt says',
    (state) => {
      expect(isPlainlyRunning(bodyOf({ ...record, state }), ID)).toBe(true)
    },
  )

  it.each<[string, string]>([
    ['success', bodyOf({ ...record, state: 'success' })],
    ['failure', bodyOf({ ...record, state: 'fail' })],
    ['a state that KIE may add', bodyOf({ ...record, state: 'generating_more' })],
    ['another task', bodyOf({ ...record, taskId: 'task_12' })],
    ['a progress', bodyOf({ ...record, progress: 40 })],
    ['a code other than 200', bodyOf(record, { code: 500 })],
    ['a second state', bodyOf({ ...record, more: 0 }).replace('"more":0', '"state":"success"')],
    [
      'a second state in escapes',
      bodyOf({ ...record, more: 0 }).replace('"more":0', '"st\\u0061te":"success"'),
    ],
    ['a second code', bodyOf(record, { more: 0 }).replace('"more":0', '"code":500')],
    ['a second record', bodyOf(record, { more: 0 }).replace('"more":0', '"data":null')],
    ['spaces between', JSON.stringify({ code: 200, msg: 'success', data: record }, null, 1)],
    ['a body that breaks off', bodyOf(record).slice(0, -1)],
    ['a state inside the model', bodyOf({ ...record, model: 'x","state":"generating"', state: 'success' })],
    ['a page of a proxy', '<html></html>'],
    ['nothing', ''],
  ])('is false of %s', (_, body) => {
    expect(isPlainlyRunning(body, ID)).toBe(false)
  })

  it('is never true where reading it in full says anything but “running, without a progress”', () => {
    // Mostly this task's own.
    const anyId = fc.constantFrom(ID, ID, ID, ID, '"', `${ID}\\`)
    const text = fc.constantFrom(
      'state',
      'success',
      '","state":"generating"',
      '"',
      '\\',
      ID,
      'data',
      'é',
      'generating',
    )
    const key = fc.constantFrom(
      'state',
      'progress',
      'taskId',
      'data',
      'code',
      'a',
      'b',
      'param',
      'failMsg',
      'costTime',
    )
    const value = fc.oneof(text, fc.integer(), fc.constant(null), fc.dictionary(key, text), fc.array(text))
    const state = fc.constantFrom('generating', 'queuing', 'waiting', 'success', 'fail', 'new')
    const data = fc
      .tuple(anyId, text, state, fc.array(fc.tuple(key, value), { maxLength: 4 }))
      .map(([taskId, model, state, more]) => {
        const fields = [['taskId', taskId], ['model', model], ['state', state], ...more]
        // By hand, since only then a key can come twice.
        return `{${fields.map(([name, of]) => `${JSON.stringify(name)}:${JSON.stringify(of)}`).join(',')}}`
      })
    const tail = fc.constantFrom(
      '',
      ',"data":null',
      ',"code":500',
      ',"data":{"state":"success"}',
      ',"x":{"y":{}}',
    )
    let plain = 0
    fc.assert(
      fc.property(data, tail, anyId, (data, tail, id) => {
        const body = `{"code":200,"msg":"success","data":${data}${tail}}`
        if (!isPlainlyRunning(body, id)) return
        plain += 1
        const answer = readEnvelope({ status: 200, body })
        expect(answer.kind).toBe('ok')
        if (answer.kind !== 'ok') return
        expect(readRecord(answer.data, id, 0)).toEqual({ kind: 'running', progress: null })
      }),
      { numRuns: 5_000 },
    )
    expect(plain).toBeGreaterThan(30)
  })
})
