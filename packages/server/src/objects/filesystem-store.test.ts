import { mkdir, mkdtemp, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { collect } from '../../test/collect.ts'
import { startFileServer } from '../../test/file-server.ts'
import { inChunks, madeBytes } from '../../test/made-bytes.ts'
import { startObjectPut } from '../../test/object-put-process.ts'
import { describeObjectStore } from '../../test/object-store-conformance.ts'
import {
  createFilesystemStore,
  type FilesystemStore,
  type FilesystemStoreOptions,
} from './filesystem-store.ts'

const secret = 'the secret of these tests'
const contentType = 'image/png'

let conformance = ''
describeObjectStore('filesystem store', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'holdfast-files-'))
  conformance = directory
  let baseUrl = ''
  const options = { directory, baseUrl: () => baseUrl }
  const store = createFilesystemStore({ ...options, secret })
  const server = await startFileServer(store)
  baseUrl = server.url
  return {
    store,
    stranger: createFilesystemStore({ ...options, secret: 'another secret for strangers' }),
    // As when a volume is unmounted: what is seen then is the empty folder below it.
    async doomed() {
      const folder = join(directory, 'doomed')
      return {
        store: createFilesystemStore({ ...options, directory: folder, secret }),
        async takeAway() {
          await rm(folder, { recursive: true })
          await mkdir(folder)
        },
      }
    },
    async stop() {
      await Promise.all([store.close(), store.close()])
      await server.close()
      await rm(directory, { recursive: true, force: true })
    },
  }
})

it('a filesystem store has nothing left of all those puts that broke off', async () => {
  expect(await readdir(join(conformance, 'incoming'))).toEqual([])
})

describe('a filesystem store', () => {
  let directory = ''
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'holdfast-files-'))
  })
  const opened: FilesystemStore[] = []
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((store) => store.close()))
    await rm(directory, { recursive: true, force: true })
  })

  function open(options: Partial<FilesystemStoreOptions> = {}): FilesystemStore {
    const store = createFilesystemStore({ directory, baseUrl: 'http://localhost', secret, ...options })
    opened.push(store)
    return store
  }
  const incoming = () => readdir(join(directory, 'incoming'))
  const put = (store: FilesystemStore, key: string) =>
    store.put(key, inChunks(madeBytes(100)), { contentType })

  it('shows nothing of a put whose process is killed, and the next one removes what it left (O2)', async () => {
    const settings = { kind: 'filesystem', directory, secret, secretFile: '' } as const
    const child = await startObjectPut({ settings, key: 'a/killed', bytes: 3_000_000 })
    expect(await incoming()).toHaveLength(1)
    // While its process lives, it is let be.
    const beside = open()
    await put(beside, 'b')
    expect(await incoming()).toHaveLength(1)

    await child.kill()
    expect(await incoming()).toHaveLength(1)
    const after = open()
    await put(after, 'c')
    expect(await incoming()).toEqual([])
    expect(await after.head('a/killed')).toBeNull()
    expect((await collect(after.list(''))).sort()).toEqual(['b', 'c'])
  })

  it('lets be what another machine may be writing, but not for ever', async () => {
    await put(open(), 'a')
    const leave = async (name: string, ageMs: number) => {
      const path = join(directory, 'incoming', name)
      await writeFile(path, 'half')
      const at = new Date(Date.now() - ageMs)
      await utimes(path, at, at)
    }
    const id = '00000000-0000-4000-8000-000000000000'
    const here = hostname()
      .replace(/[^A-Za-z0-9-]/g, '-')
      .slice(0, 60)
    const day = 24 * 60 * 60_000
    await leave(`elsewhere.1.${id}`, day / 2)
    await leave(`elsewhere.2.${id}`, day * 2)
    await leave('of unknown origin', day / 2)
    await leave('of unknown origin and old', day * 2)
    // As of an earlier process of a container, which had the same number as this one.
    await leave(`${here}.${process.pid}.${id}`, day / 2)
    await put(open(), 'b')
    expect((await incoming()).sort()).toEqual([`elsewhere.1.${id}`, 'of unknown origin'])
  })

  it('is closed to other users of the machine', async () => {
    await put(open(), 'a/b')
    const modeOf = async (path: string) => (await stat(join(directory, path))).mode & 0o777
    expect(await modeOf('objects')).toBe(0o700)
    expect(await modeOf('incoming')).toBe(0o700)
    expect(await modeOf('objects/a@')).toBe(0o700)
    expect(await modeOf('objects/a@/b')).toBe(0o600)
  })

  it('leaves no empty folders behind, and no put fails for a folder that is just removed', async () => {
    const store = open()
    await put(store, 'a/b/c/d')
    await put(store, 'a/e')
    await store.delete(['a/b/c/d'])
    expect(await readdir(join(directory, 'objects', 'a@'))).toEqual(['e'])
    await store.delete(['a/e'])
    expect(await readdir(join(directory, 'objects'))).toEqual([])

    const rounds = Array.from({ length: 60 }, (_, n) => n)
    await Promise.all(
      rounds.map(async (n) => {
        await put(store, `x/y/${n % 4}/${n}`)
        await store.delete([`x/y/${n % 4}/${n}`])
      }),
    )
    expect(await readdir(join(directory, 'objects'))).toEqual([])
  })

  it('does not take a damaged file for an object', async () => {
    const store = open()
    await put(store, 'a')
    const path = join(directory, 'objects', 'a')
    const whole = await readFile(path)
    for (const damaged of [whole.subarray(0, -1), whole.subarray(1), Buffer.alloc(0), Buffer.from('hello')]) {
      await writeFile(path, damaged)
      await expect(store.head('a')).rejects.toThrow('is not a whole object file')
      await expect(store.open('a')).rejects.toThrow('is not a whole object file')
    }
    await put(store, 'a')
    expect(await store.head('a')).toEqual({ bytes: 100, contentType })
  })

  it('says so when it cannot write, and can when that is over', async () => {
    const place = join(directory, 'not-a-folder')
    await writeFile(place, '')
    const store = open({ directory: place })
    await expect(put(store, 'a')).rejects.toThrow(/ENOTDIR|EEXIST/)
    await rm(place)
    await put(store, 'a')
    expect(await store.head('a')).toEqual({ bytes: 100, contentType })
  })

  it('signs with the address of the moment, and the same URL for a while', async () => {
    let now = Date.UTC(2030, 0, 1, 0, 10)
    let base = 'http://localhost:1/'
    const store = open({ baseUrl: () => base, now: () => now })
    const sign = async (expiresInMs: number) => (await store.signUrls(['a/b.png'], { expiresInMs }))[0]
    const hour = 60 * 60_000
    const first = await sign(24 * hour)
    expect(first).toMatch(/^http:\/\/localhost:1\/files\/a\/b\.png\?expires=\d+&signature=[\w-]{43}$/)
    now += hour / 2
    expect(await sign(24 * hour)).toBe(first)
    now += hour
    expect(await sign(24 * hour)).not.toBe(first)
    base = 'http://localhost:2'
    expect(await sign(24 * hour)).toMatch(/^http:\/\/localhost:2\/files\//)
  })

  it('needs a secret that is one', () => {
    expect(() => open({ secret: '' })).toThrow('16 characters or more')
  })
})
