import { mkdirSync, mkdtempSync, readFileSync, readlinkSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { restoreSymlinks } from './restore-symlinks.ts'

let home: string
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'holdfast-symlinks-'))
  mkdirSync(join(home, 'native/lib'), { recursive: true })
  writeFileSync(join(home, 'native/lib/libpq.so.5.18'), 'a library')
})
afterEach(() => rmSync(home, { recursive: true, force: true }))

const list = (...targets: string[]) =>
  writeFileSync(
    join(home, 'native/pg-symlinks.json'),
    JSON.stringify(targets.map((target) => ({ source: 'native/lib/libpq.so.5.18', target }))),
  )

it('makes the links that an install without scripts has left out, and only those', () => {
  list('native/lib/libpq.so', 'native/lib/libpq.so.5')
  restoreSymlinks(home)
  rmSync(join(home, 'native/lib/libpq.so.5'))
  restoreSymlinks(home)
  for (const name of ['libpq.so', 'libpq.so.5']) {
    expect(readFileSync(join(home, 'native/lib', name), 'utf8')).toBe('a library')
    // Relative, since the folder may be copied as a whole.
    expect(readlinkSync(join(home, 'native/lib', name))).toBe('libpq.so.5.18')
  }
})

it('has nothing to do where there is no list', () => {
  expect(() => restoreSymlinks(home)).not.toThrow()
})

it('says what to do when a link cannot be made', () => {
  list('native/nowhere/libpq.so')
  expect(() => restoreSymlinks(home)).toThrow('Let its install script run')
})
