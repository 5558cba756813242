import { randomBytes } from 'node:crypto'
import { chmod, cp, lstat, mkdir, readdir, readFile, realpath, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { describeAccount, findServiceAccount, type OsAccount } from './os-account.ts'
import type { PostgresBinaries } from './postgres-binaries.ts'
import { isReachable } from './reachable.ts'

export interface Place {
  /** The folder with `bin`, `lib` and `share`. */
  binaries: string
  /** The folder in which the cluster is or will be. */
  home: string
  /** Who runs PostgreSQL, when that is not the user we run as. */
  account: OsAccount | null
}

export interface PlaceOptions {
  dataDir: string
  binaries: PostgresBinaries
  systemDir: string
  passwdFile?: string
}

export const CLUSTER = 'postgresql'
const SIGNPOST = 'data-is-elsewhere.txt'

/**
 * Where PostgreSQL lives and who runs it. A plain user keeps everything in the wanted folder. Root cannot run
 * PostgreSQL, and the account that does may not be able to enter the wanted folder (a clone in `/root`): then
 * binaries and data move under `systemDir`, and a signpost in the wanted folder says so. The signpost is what
 * later starts follow, so data never gets lost when a folder's mode changes.
 */
export async function choosePlace(options: PlaceOptions): Promise<Place> {
  const wanted = await openDataDir(resolve(options.dataDir))
  const signpost = join(wanted, SIGNPOST)
  const elsewhere = await readSignpost(signpost)
  const uid = process.getuid?.()

  if (uid !== 0) {
    const owner = await ownerOf(join(wanted, CLUSTER), options.passwdFile)
    if (elsewhere || (owner && owner.uid !== uid)) {
      throw new Error(
        `The data of ${wanted} was made by ${elsewhere ? 'root' : owner?.name}, so only root can use it. Start as root, or choose another data folder.`,
      )
    }
    return { binaries: options.binaries.root, home: wanted, account: null }
  }

  const owner = await ownerOf(join(elsewhere ?? wanted, CLUSTER), options.passwdFile)
  const account = owner ?? (await findServiceAccount(options.passwdFile))
  const reachable = await isReachable(elsewhere ?? wanted, account)
  if (!reachable && (owner || elsewhere)) {
    throw new Error(
      `User ${account.name}, whose data is in ${elsewhere ?? wanted}, cannot enter that folder. Let that user in (chmod o+rx it and the folders above), or choose another data folder.`,
    )
  }
  const home =
    elsewhere ?? (reachable ? wanted : await relocate(wanted, signpost, options.systemDir, account))
  return { binaries: await reachableBinaries(options, account), home, account }
}

async function openDataDir(dataDir: string): Promise<string> {
  try {
    await mkdir(dataDir, { recursive: true })
    return await realpath(dataDir)
  } catch (cause) {
    throw new Error(
      `The data folder ${dataDir} cannot be made (${(cause as Error).message}). Choose another one, or set DATABASE_URL.`,
      { cause },
    )
  }
}

async function ownerOf(cluster: string, passwdFile?: string): Promise<OsAccount | null> {
  try {
    const { uid, gid } = await lstat(cluster)
    return await describeAccount(uid, gid, passwdFile)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}

async function readSignpost(signpost: string): Promise<string | null> {
  try {
    const [path] = (await readFile(signpost, 'utf8')).split('\n')
    if (!path?.startsWith('/')) {
      throw new Error(`${signpost} should begin with a path. Correct it, or remove it to begin with no data.`)
    }
    await mkdir(path, { recursive: true, mode: 0o755 })
    return path
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}

async function relocate(wanted: string, signpost: string, systemDir: string, account: OsAccount) {
  // The name is random and not derived from the wanted path: that folder may be moved away and another one
  // made in its place, and the two must not share their data.
  const home = join(await openSystemDir(systemDir), `data-${randomBytes(6).toString('hex')}`)
  await mkdir(home)
  await chmod(home, 0o755)
  const text = `${home}\n\nThe database of this folder is there: it runs as user ${account.name}, who cannot enter ${wanted}.\nTo delete the data, delete both.\n`
  await writeFile(`${signpost}.new`, text)
  await rename(`${signpost}.new`, signpost)
  return home
}

async function reachableBinaries(options: PlaceOptions, account: OsAccount): Promise<string> {
  const { root, version, platform } = options.binaries
  const needed = ['bin/postgres', 'bin/initdb', 'lib', 'share'].map((path) => join(root, path))
  const reachable = await Promise.all(needed.map((path) => isReachable(path, account)))
  if (reachable.every(Boolean)) return root

  const copy = join(await openSystemDir(options.systemDir), `postgresql-${version}-${platform}`)
  try {
    await lstat(copy)
    return copy
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
  const draft = `${copy}.new-${process.pid}`
  await rm(draft, { recursive: true, force: true })
  await cp(root, draft, { recursive: true, verbatimSymlinks: true })
  await letEveryoneRead(draft)
  try {
    await rename(draft, copy)
  } catch (error) {
    // Another start was faster; its copy is as good as ours.
    await rm(draft, { recursive: true, force: true })
    if (!['ENOTEMPTY', 'EEXIST'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error
  }
  return copy
}

/** A strict umask, or an install under one, leaves modes that shut the account out of its own copy. */
async function letEveryoneRead(folder: string): Promise<void> {
  await chmod(folder, 0o755)
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) await letEveryoneRead(path)
    else if (entry.isFile()) await chmod(path, (await lstat(path)).mode & 0o100 ? 0o755 : 0o644)
  }
}

async function openSystemDir(systemDir: string): Promise<string> {
  try {
    await mkdir(dirname(systemDir), { recursive: true })
    await mkdir(systemDir).then(
      () => chmod(systemDir, 0o755),
      (error: NodeJS.ErrnoException) => {
        if (error.code !== 'EEXIST') throw error
      },
    )
    return await realpath(systemDir)
  } catch (cause) {
    throw new Error(
      `PostgreSQL cannot run as root, and ${systemDir}, where another user could run it, cannot be made (${(cause as Error).message}). Start as a plain user, move this folder to where all users may enter, or set DATABASE_URL.`,
      { cause },
    )
  }
}
