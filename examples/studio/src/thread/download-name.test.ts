import { expect, test } from 'vitest'
import { downloadName } from './download-name.ts'

test.each([
  ['A Café, at night; in the rain of Paris', 'image/png', 'a-cafe-at-night-in-the.png'],
  ['灯台', 'video/mp4; codecs=avc1', '灯台.mp4'],
  ['../../etc', null, 'etc'],
  ['!!!', 'application/x-unknown', 'generation'],
])('"%s" as %s is saved as %s', (prompt, contentType, name) => {
  expect(downloadName(prompt, contentType)).toBe(name)
})
