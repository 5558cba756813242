import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { chown, mkdtemp, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { CLUSTER, type Place } from './choose-place.ts'

export interface Cluster {
  data: string
  password: string
  logFile: string
}

const DRAFT = `${CLUSTER}.new-`

/**
 * Opens the cluster of a place, making it first if there is none. It is made under another name and renamed
 * when complete, so that a kill half-way leaves nothing that looks finished.
 */
export async function openCluster(place: Place, version: string, durable: boolean): Promise<Cluster> {
  const folder = join(place.home, CLUSTER)
  const made = await stat(folder).catch(() => null)
  if (!made) await initialise(place, folder, durable)

  const data = join(folder, 'data')
  const wanted = version.split('.')[0]
  const found = (await readFile(join(data, 'PG_VERSION'), 'utf8')).trim()
  if (found !== wanted) {
    throw new Error(
      `The data in ${folder} is PostgreSQL ${found}'s, this is PostgreSQL ${wanted}. Move it over with pg_dump, or choose another data folder.`,
    )
  }
  const password = (await readFile(join(folder, 'password'), 'utf8')).trim()
  return { data, password, logFile: join(folder, 'server.log') }
}

async function initialise({ binaries, home, account }: Place, folder: string, durable: boolean) {
  for (const name of await readdir(home)) {
    // Retried, because an initdb whose parent was killed may still be writing there.
    if (name.startsWith(DRAFT)) await rm(join(home, name), { recursive: true, force: true, maxRetries: 20 })
  }
  const draft = await mkdtemp(join(home, DRAFT))
  const passwordFile = join(draft, 'password')
  await writeFile(passwordFile, `${randomBytes(24).toString('base64url')}\n`, { mode: 0o600 })
  if (account) {
    await chown(draft, account.uid, account.gid)
    await chown(passwordFile, account.uid, account.gid)
  }
  const args = [
    ...['--pgdata', join(draft, 'data'), '--username', 'postgres', '--pwfile', passwordFile],
    ...['--auth', 'scram-sha-256', '--encoding', 'UTF8'],
    // PostgreSQL's own C.UTF-8: sorts the same everywhere and needs no locale installed.
    ...['--no-locale', '--locale-provider', 'builtin', '--builtin-locale', 'C.UTF-8'],
    ...(durable ? [] : ['--no-sync']),
  ]
  try {
    await promisify(execFile)(join(binaries, 'bin', 'initdb'), args, {
      cwd: draft,
      env: { LC_ALL: 'C', TZ: 'UTC' },
      ...(account && { uid: account.uid, gid: account.gid }),
    })
    await rename(draft, folder)
  } catch (cause) {
    await rm(draft, { recursive: true, force: true })
    const said = (cause as { stderr?: string }).stderr?.trim()
    throw new Error(
      `PostgreSQL could not prepare its data in ${home}: ${said || (cause as Error).message}. Make sure that the folder is writable and the disk is not full.`,
      { cause },
    )
  }
}
