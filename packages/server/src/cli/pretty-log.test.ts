import { expect, test } from 'vitest'
import { createLog } from '../log.ts'
import { prettyLine } from './pretty-log.ts'

function written(write: (log: ReturnType<typeof createLog>) => void): string {
  let text = ''
  write(
    createLog('trace', {
      write: (line) => {
        text += prettyLine(line, { colors: false })
      },
    }),
  )
  return text
}

test('a line is the time, the level, what happened, and its details', () => {
  expect(written((log) => log.warn({ reason: 'no answer', port: 5432, host: 'db.local' }, 'away'))).toMatch(
    /^\d\d:\d\d:\d\d WARN {2}away {2}reason="no answer" port=5432 host=db.local\n$/,
  )
  expect(written((log) => log.info('serving'))).toMatch(/^\d\d:\d\d:\d\d INFO {2}serving\n$/)
})

test('an outage is one line; what nobody expects has its stack below', () => {
  const refused = Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:1'), { code: 'ECONNREFUSED' })
  expect(written((log) => log.warn({ err: refused, kind: 'poll' }, 'failed')).slice(9)).toBe(
    'WARN  failed (connect ECONNREFUSED 127.0.0.1:1)  kind=poll\n',
  )
  const lines = written((log) => log.error({ err: new TypeError('oh') }, 'unexpected error')).split('\n')
  expect(lines[0]).toMatch(/ERROR unexpected error \(oh\)$/)
  expect(lines[1]).toMatch(/^ {4}at .*pretty-log\.test\.ts/)
})

test('nothing that is logged can move the cursor, and what is no entry is shown as it is', () => {
  expect(written((log) => log.info('a\u001b[2J\u0007b\rc'))).toMatch(/INFO {2}a b c\n$/)
  expect(prettyLine('Stopping …\n', { colors: true })).toBe('Stopping …\n')
})

test('colours are there only where they are shown', () => {
  const line = '{"level":40,"time":"2026-01-01T10:00:00.000Z","msg":"away","a":1}'
  expect(prettyLine(line, { colors: false })).not.toContain('\u001b')
  expect(prettyLine(line, { colors: true })).toContain('\u001b[33mWARN ')
})
