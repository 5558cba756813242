import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import * as simulators from '@holdfast/server/simulators'
import { expect, test } from 'vitest'
import { COMMANDS } from './commands.ts'
import { SIMULATORS } from './simulators.ts'

const MAIN = fileURLToPath(new URL('../main.ts', import.meta.url))

function run(...args: string[]) {
  const child = spawn(process.execPath, ['--conditions=holdfast-source', MAIN, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const said = { out: '', error: '' }
  child.stdout.on('data', (chunk) => {
    said.out += chunk
  })
  child.stderr.on('data', (chunk) => {
    said.error += chunk
  })
  return { child, said, ended: once(child, 'exit') }
}

/** A busy machine may take its time. */
const patiently = { timeout: 15_000 }

test('every simulator runs from the command line, answers, and stops in good order', async () => {
  await Promise.all(
    Object.entries(SIMULATORS).map(async ([name, { title, basePath }]) => {
      const { child, said, ended } = run('simulate', name, '--port', '0')
      try {
        await expect.poll(() => said.out, patiently).toContain('Stop with Ctrl-C')
        const [, url = '', path] = / at (http:\/\/127\.0\.0\.1:\d+)(\S*) \(/.exec(said.out) ?? []
        expect(said.out).toContain(`Simulated ${title} at `)
        expect(path).toBe(basePath)
        const asked = await fetch(`${url}/simulator/requests`)
        expect(await asked.json()).toEqual({ creates: 0, requests: [] })
        child.kill('SIGTERM')
        expect(await ended).toEqual([0, null])
      } finally {
        child.kill('SIGKILL')
      }
    }),
  )
}, 60_000)

test.each([
  [['simulate', 'acme'], 'There is no simulator for "acme". Known: kie, replicate, fal, runway, luma-agents'],
  [['simulate', 'toString'], 'There is no simulator for "toString"'],
  [['simulate'], 'Say which provider to simulate. Known: kie'],
  [['simulate', 'fal', '--speed', '0'], '--speed is 0'],
])('%j is told what is wrong', async (args, problem) => {
  const { said, ended } = run(...args)
  expect(await ended).toEqual([1, null])
  expect(said.error).toContain(problem)
})

test('a port that is taken is told', async () => {
  const taken = await simulators.startFalSimulator()
  try {
    const { said, ended } = run('simulate', 'replicate', '--port', String(taken.port))
    expect(await ended).toEqual([1, null])
    expect(said.error).toContain(`Port ${taken.port} is in use. Choose another with --port.`)
  } finally {
    await taken.close()
  }
})

test('the help names them all, and there is a factory for each', () => {
  for (const name of Object.keys(SIMULATORS)) expect(COMMANDS.simulate.text).toContain(name)
  const factories = Object.keys(simulators).filter((name) => /^start\w+Simulator$/.test(name))
  expect(factories).toHaveLength(Object.keys(SIMULATORS).length)
})
