import { realpath, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { OsAccount } from './os-account.ts'

const READ = 4
const ENTER = 1

/** Mode bits only: an ACL that grants more just means that we copy what could have stayed. */
async function allows(path: string, wanted: number, account: OsAccount): Promise<boolean> {
  const { mode, uid, gid } = await stat(path)
  const shift = uid === account.uid ? 6 : gid === account.gid ? 3 : 0
  return ((mode >> shift) & wanted) === wanted
}

/** Whether the account may read and enter an existing path, which takes leave to enter every folder above it. */
export async function isReachable(path: string, account: OsAccount): Promise<boolean> {
  const real = await realpath(path)
  if (!(await allows(real, READ | ENTER, account))) return false
  for (let folder = dirname(real); ; folder = dirname(folder)) {
    if (!(await allows(folder, ENTER, account))) return false
    if (folder === dirname(folder)) return true
  }
}
