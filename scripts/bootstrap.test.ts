import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { afterEach, describe, expect, it, vi } from 'vitest'

const bootstrap = fileURLToPath(new URL('bootstrap.mjs', import.meta.url))
const started: ChildProcess[] = []

afterEach(() => {
  for (const child of started.splice(0)) child.kill('SIGKILL')
})

const isAlive = (pid: number) => {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

/** Stands for a server that takes its time to stop: says its pid once it listens for signals, then which it got. */
const SERVER = `
  for (const name of ['SIGINT', 'SIGTERM']) process.on(name, () => { console.log(name); setTimeout(() => process.exit(0), 50) })
  console.log(process.pid)
  setInterval(() => {}, 1000)
`

/** Runs it through `run`, optionally under a shell that stays in between, as npm has one. */
function startScript({ underShell = false } = {}) {
  const script = `
    const { run } = await import(${JSON.stringify(bootstrap)})
    console.log(process.pid)
    const { code } = await run(process.execPath, ['--eval', ${JSON.stringify(SERVER)}])
    process.exit(code)
  `
  const args = ['--input-type=module', '--eval', script]
  const env = { ...process.env, npm_lifecycle_event: 'start' }
  const options = { env, stdio: ['ignore', 'pipe', 'inherit'] as ['ignore', 'pipe', 'inherit'] }
  const child = underShell
    ? spawn('sh', ['-c', '"$0" "$@"; true', process.execPath, ...args], options)
    : spawn(process.execPath, args, options)
  started.push(child)
  let said = ''
  child.stdout.on('data', (text) => {
    said += text
  })
  const lines = () => said.split('\n').filter(Boolean)
  const ready = async () => {
    await vi.waitUntil(() => lines().length >= 2, { timeout: 10_000 })
    return { script: Number(lines()[0]), server: Number(lines()[1]) }
  }
  return { child, lines, ready, ended: once(child, 'close') }
}

describe('what a script runs', () => {
  it('gets SIGTERM through it and is waited for', async () => {
    const { child, lines, ready, ended } = startScript()
    const { server } = await ready()
    child.kill('SIGTERM')
    expect(await ended).toEqual([0, null])
    expect(lines().slice(2)).toEqual(['SIGTERM'])
    expect(isAlive(server)).toBe(false)
  })

  it('is told to stop when only the script was interrupted', async () => {
    const { child, lines, ready, ended } = startScript()
    await ready()
    child.kill('SIGINT')
    expect(await ended).toEqual([0, null])
    expect(lines().slice(2)).toEqual(['SIGTERM'])
  })

  it('stops when the shell between npm and the script was ended', async () => {
    const { child, lines, ready, ended } = startScript({ underShell: true })
    const { script } = await ready()
    expect(script).not.toBe(child.pid)
    child.kill('SIGKILL')
    // The output closes when the last process that holds it has ended.
    await ended
    expect(lines().slice(2)).toEqual(['SIGTERM'])
  })
})

it('a failing command fails the script with the same code', async () => {
  const script = `const { run } = await import(${JSON.stringify(bootstrap)}); process.exit((await run(process.execPath, ['--eval', 'process.exit(7)'])).code)`
  const child = spawn(process.execPath, ['--input-type=module', '--eval', script])
  started.push(child)
  expect(await once(child, 'close')).toEqual([7, null])
})
