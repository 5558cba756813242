import { randomBytes, randomUUID } from 'node:crypto'
import { link, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'

/**
 * A secret that is made once and then kept in this file, which only its owner can read. Processes that start at the
 * same time get the same one.
 */
export async function keptSecret(file: string): Promise<string> {
  const kept = await readSecret(file)
  if (kept !== null) return kept
  await mkdir(dirname(file), { recursive: true })
  // Written aside and then given its name, which only one can do and which nobody sees half done.
  const temporary = `${file}.${randomUUID()}`
  try {
    await writeFile(temporary, randomBytes(32).toString('hex'), { mode: 0o600, flag: 'wx', flush: true })
    await link(temporary, file).catch((error: unknown) => {
      if (!hasCode(error, 'EEXIST')) throw error
    })
  } finally {
    await rm(temporary, { force: true })
  }
  return (await readSecret(file)) ?? ''
}

async function readSecret(file: string): Promise<string | null> {
  const secret = await readFile(file, 'utf8').catch((error: unknown) => {
    if (hasCode(error, 'ENOENT')) return null
    throw error
  })
  if (secret === null) return null
  if (secret.trim().length < 16) {
    throw new Error(`There is no secret in ${file}. Remove the file; a new one is made at the next start.`)
  }
  return secret.trim()
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code
}
