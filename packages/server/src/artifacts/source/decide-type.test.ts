import { expect, test } from 'vitest'
import { BAD_SAMPLES, MEDIA_SAMPLES, PNG } from '../../../test/media-samples.ts'
import { decideType, SAMPLE_BYTES } from './decide-type.ts'

const media = Object.entries(MEDIA_SAMPLES)
const bad = Object.entries(BAD_SAMPLES)
const wrongType = expect.objectContaining({ code: 'WRONG_TYPE', retryable: false })
const sampleOf = (file: Buffer) => file.subarray(0, SAMPLE_BYTES)

test.each(media)('O2 %s is known by its first bytes, whatever the header says', async (type, file) => {
  for (const header of [
    null,
    type,
    'application/octet-stream',
    'binary/octet-stream',
    'text/plain',
    'image/x',
    '',
  ]) {
    expect(await decideType(sampleOf(file), header, null)).toBe(type)
  }
  // What is expected decides nothing here: a picture in place of a video is stored as the picture it is.
  for (const expected of ['video/mp4', 'text/plain', 'application/zip']) {
    expect(await decideType(sampleOf(file), null, expected)).toBe(type)
  }
})

test.each(bad)('S3 %s is refused, whatever the header says', async (_name, file) => {
  for (const header of [
    null,
    'image/png',
    'video/mp4',
    'application/octet-stream',
    'image/svg+xml',
    'text/html',
  ]) {
    await expect(decideType(sampleOf(file), header, null)).rejects.toEqual(wrongType)
    await expect(decideType(sampleOf(file), header, 'image/png')).rejects.toEqual(wrongType)
    await expect(decideType(sampleOf(file), header, 'image/svg+xml')).rejects.toEqual(wrongType)
    await expect(decideType(sampleOf(file), header, 'text/html')).rejects.toEqual(wrongType)
  }
})

test.each([
  'text/html',
  'Text/HTML; charset=utf-8',
  'application/xhtml+xml',
  'image/svg+xml',
  'text/xml',
  'application/atom+xml',
  'text/javascript',
  'application/javascript',
  'application/pdf',
  'multipart/x-mixed-replace; boundary=x',
  'image/png, text/html',
])('S3 a picture that is announced as %s is refused', async (header) => {
  await expect(decideType(PNG, header, null)).rejects.toEqual(wrongType)
})

test('O2 text is taken only where it is expected', async () => {
  const text = Buffer.from('Once upon a time there was a GIF.')
  for (const type of [
    'text/plain',
    'text/markdown',
    'text/csv',
    'application/json',
    'Text/Plain; charset=utf-8',
  ]) {
    expect(await decideType(text, 'application/octet-stream', type)).toBe(type.split(';')[0]?.toLowerCase())
  }
  await expect(decideType(text, 'text/plain', null)).rejects.toEqual(wrongType)
  await expect(decideType(text, 'text/plain', 'video/mp4')).rejects.toEqual(wrongType)
  await expect(decideType(text, 'text/html', 'text/plain')).rejects.toEqual(wrongType)
  expect(await decideType(Buffer.from('GIF is how it begins'), null, 'text/plain')).toBe('text/plain')
  expect(await decideType(Buffer.from('WEBVTT\n\n00:01.000 --> 00:02.000\nHi'), null, 'text/vtt')).toBe(
    'text/vtt',
  )
})

test('O2 a sample that ends within a character is still text', async () => {
  const sample = Buffer.from('ä'.repeat(SAMPLE_BYTES)).subarray(0, SAMPLE_BYTES - 1)
  expect(sample.length % 2).toBe(1)
  expect(await decideType(sample, null, 'text/plain')).toBe('text/plain')
})

test.each([
  'an HTML page',
  'an SVG',
  'an S3 error document',
  'a shell script',
  'a page in UTF-16',
  'a gzip file',
  'a PDF',
])('S3 %s is refused where text is expected', async (name) => {
  await expect(decideType(BAD_SAMPLES[name] ?? PNG, 'text/plain', 'text/plain')).rejects.toEqual(wrongType)
})

test('O2 a ZIP is taken only where one is expected, and only a plain one', async () => {
  const zipOf = (name: string) => {
    const header = Buffer.alloc(30)
    header.writeUInt32LE(0x04034b50, 0)
    header.writeUInt16LE(name.length, 26)
    return Buffer.concat([header, Buffer.from(name), Buffer.alloc(64)])
  }
  expect(await decideType(zipOf('model.obj'), null, 'application/zip')).toBe('application/zip')
  await expect(decideType(zipOf('model.obj'), 'application/zip', null)).rejects.toEqual(wrongType)
  await expect(decideType(zipOf('META-INF/MANIFEST.MF'), null, 'application/zip')).rejects.toEqual(wrongType)
  await expect(decideType(zipOf('classes.dex'), null, 'application/zip')).rejects.toEqual(wrongType)
})
