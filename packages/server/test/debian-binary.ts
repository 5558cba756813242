import { execFile } from 'node:child_process'
import { constants } from 'node:fs'
import { access } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'

export interface DebianBinary {
  binary: string
  /** The package of Debian that has it. */
  package: string
  /** Where the package keeps it, if not where programs are. */
  folders?: () => Promise<string[]>
}

/** Where a server program is that some tests need. As root on Debian a missing one is installed. */
export async function debianBinary(wanted: DebianBinary): Promise<string> {
  const found = await find(wanted)
  if (found) return found
  if (process.getuid?.() !== 0 || !(await exists('/etc/debian_version'))) {
    throw new Error(
      `These tests need ${wanted.binary}, which is not installed here. Install it, on Debian and Ubuntu by: apt-get install ${wanted.package}`,
    )
  }
  await install(wanted.package)
  const installed = await find(wanted)
  if (!installed) throw new Error(`The package ${wanted.package} has no ${wanted.binary} in it.`)
  return installed
}

// Not from PATH alone: a plain user's often lacks /usr/sbin, where Debian keeps servers.
const FOLDERS = ['/usr/local/bin', '/usr/local/sbin', '/usr/bin', '/usr/sbin', '/opt/homebrew/bin']

async function find({ binary, folders }: DebianBinary): Promise<string | null> {
  for (const folder of (await folders?.()) ?? FOLDERS) {
    const path = join(folder, binary)
    if (await exists(path, constants.X_OK)) return path
  }
  return null
}

async function exists(path: string, mode = constants.F_OK): Promise<boolean> {
  try {
    await access(path, mode)
    return true
  } catch {
    return false
  }
}

async function install(name: string): Promise<void> {
  const run = promisify(execFile)
  // Without it the package would start its own server; test files that run at once wait for one another.
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' }
  const wait = ['-o', 'DPkg::Lock::Timeout=300', '-o', 'Acquire::Retries=3']
  const get = () => run('apt-get', [...wait, 'install', '--yes', '--no-install-recommends', name], { env })
  try {
    await get().catch(async () => {
      await run('apt-get', [...wait, 'update'], { env })
      await get()
    })
  } catch (error) {
    throw new Error(`Could not install ${name}. Install it by hand: apt-get install ${name}`, {
      cause: error,
    })
  }
}
