import { execFile } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { freePort } from '../../test/free-port.ts'
import { inChunks, madeBytes } from '../../test/made-bytes.ts'
import { createMemoryLog } from '../../test/memory-log.ts'
import { readObjectSettings } from './object-settings.ts'
import type { ObjectStore } from './object-store.ts'
import { openObjectStore } from './open-object-store.ts'

describe('openObjectStore', () => {
  let dataDir = ''
  beforeEach(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'holdfast-data-'))
  })
  const opened: ObjectStore[] = []
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((store) => store.close()))
    await rm(dataDir, { recursive: true, force: true })
  })

  async function open(env: NodeJS.ProcessEnv): Promise<ObjectStore> {
    const store = await openObjectStore(readObjectSettings(env, dataDir), {
      baseUrl: 'https://api.example.com',
      log: createMemoryLog().log,
    })
    opened.push(store)
    return store
  }

  it('uses a folder unless told otherwise', async () => {
    const store = await open({})
    expect(store.name).toBe('filesystem')
    await store.put('a/b', inChunks(madeBytes(10)), { contentType: 'image/png' })
    expect(await store.head('a/b')).toEqual({ bytes: 10, contentType: 'image/png' })
    expect((await readdir(dataDir)).sort()).toEqual(['files', 'files-secret'])
    const [url] = await store.signUrls(['a/b'], { expiresInMs: 60_000 })
    expect(url).toMatch(/^https:\/\/api\.example\.com\/files\/a\/b\?/)
  })

  it('makes one secret, which only its owner can read, and keeps it', async () => {
    const stores = await Promise.all(Array.from({ length: 8 }, () => open({})))
    const file = join(dataDir, 'files-secret')
    expect((await stat(file)).mode & 0o777).toBe(0o600)
    expect(await readFile(file, 'utf8')).toMatch(/^[0-9a-f]{64}$/)
    expect((await readdir(dataDir)).filter((name) => name.startsWith('files-secret'))).toEqual([
      'files-secret',
    ])
    stores.push(await open({}))
    const urls = await Promise.all(stores.map((store) => store.signUrls(['a'], { expiresInMs: 86_400_000 })))
    expect(new Set(urls.flat()).size).toBe(1)
  })

  it('prefers the secret that it is given, and keeps none then', async () => {
    await open({ FILES_SECRET: 'sixteen or more chars' })
    expect(await readdir(dataDir)).not.toContain('files-secret')
  })

  it('says what to do about a file that has no secret in it', async () => {
    await writeFile(join(dataDir, 'files-secret'), '')
    await expect(open({})).rejects.toThrow(/There is no secret in .*files-secret. Remove the file/)
  })

  it('needs to know where a folder is served from', async () => {
    await expect(openObjectStore(readObjectSettings({}, dataDir))).rejects.toThrow('needs baseUrl')
  })

  it('opens S3 and Supabase where they are set', async () => {
    const nowhere = `http://127.0.0.1:${await freePort()}`
    const s3 = await open({
      S3_BUCKET: 'b',
      S3_ENDPOINT: nowhere,
      S3_ACCESS_KEY_ID: 'id',
      S3_SECRET_ACCESS_KEY: 'secret',
      S3_PREFIX: 'p',
    })
    expect(s3.name).toBe('s3')
    const [url] = await s3.signUrls(['a'], { expiresInMs: 60_000 })
    expect(url).toContain(`${nowhere}/b/p/a?`)
    await s3.close()
    const supabase = await open({ SUPABASE_URL: nowhere, SUPABASE_BUCKET: 'b', SUPABASE_SERVICE_KEY: 'key' })
    expect(supabase.name).toBe('supabase')
    await supabase.close()
    expect(await readdir(dataDir)).toEqual([])
  })

  it.each([
    ['a folder', 'filesystem', []],
    ['S3', 's3', ['@aws-sdk/client-s3']],
    ['Supabase', 'supabase', ['@supabase/supabase-js']],
  ])('loads for %s only what it needs, and does not keep the process alive', async (_, kind, expected) => {
    const here = (name: string) => JSON.stringify(new URL(name, import.meta.url).href)
    const settings = {
      filesystem: { kind, directory: dataDir, secret: 'sixteen or more chars' },
      s3: {
        kind,
        bucket: 'b',
        region: 'r',
        endpoint: 'http://127.0.0.1:1',
        accessKeyId: 'i',
        secretAccessKey: 's',
      },
      supabase: { kind, url: 'http://127.0.0.1:1', bucket: 'b', serviceKey: 'k' },
    }[kind]
    const script = `
      import { registerHooks } from 'node:module'
      const loaded = new Set()
      registerHooks({ load(url, context, next) { loaded.add(url); return next(url, context) } })
      const { openObjectStore } = await import(${here('./open-object-store.ts')})
      const log = { info() {}, warn() {}, debug() {}, error() {} }
      const store = await openObjectStore(${JSON.stringify(settings)}, { baseUrl: '', log })
      const names = ['@aws-sdk/client-s3', '@supabase/supabase-js']
      console.log(JSON.stringify(names.filter((name) => [...loaded].some((url) => url.includes(name)))))
      await store.close()`
    const args = ['--conditions=holdfast-source', '--input-type=module', '--eval', script]
    const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: 15_000 })
    expect(JSON.parse(stdout)).toEqual(expected)
  })
})
