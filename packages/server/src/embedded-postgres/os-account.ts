import { readFile } from 'node:fs/promises'

export interface OsAccount {
  name: string
  uid: number
  gid: number
}

/** The accounts of `/etc/passwd`; reading it needs no `getent`, which slim images lack. */
async function readAccounts(passwdFile: string): Promise<OsAccount[]> {
  const text = await readFile(passwdFile, 'utf8')
  return text.split('\n').flatMap((line) => {
    const [name, , uid, gid] = line.split(':')
    // macOS writes nobody's id as -2; the kernel's number is the unsigned one.
    return name && uid && gid ? [{ name, uid: Number(uid) >>> 0, gid: Number(gid) >>> 0 }] : []
  })
}

/** PostgreSQL refuses to run as root: this is who runs it instead. Nobody is created for it. */
export async function findServiceAccount(passwdFile = '/etc/passwd'): Promise<OsAccount> {
  const accounts = await readAccounts(passwdFile)
  for (const name of ['postgres', 'nobody']) {
    const account = accounts.find((candidate) => candidate.name === name && candidate.uid !== 0)
    if (account) return account
  }
  throw new Error(
    'PostgreSQL does not run as root, and there is no user "postgres" or "nobody" to run it as. Start as a plain user, or set DATABASE_URL.',
  )
}

/** The account that owns existing data; an id without a name is still an account. */
export async function describeAccount(
  uid: number,
  gid: number,
  passwdFile = '/etc/passwd',
): Promise<OsAccount> {
  const known = (await readAccounts(passwdFile)).find((account) => account.uid === uid)
  return known ?? { name: `uid ${uid}`, uid, gid }
}
