import { errorCode } from '../database/database-errors.ts'
import { SIMULATORS, type SimulatorEntry } from './simulators.ts'
import { untilToldToStop } from './until-told-to-stop.ts'

export async function runSimulate(
  provider: string | undefined,
  options: { port: number; stateFile?: string; speed: number; fileTtlMs?: number },
): Promise<void> {
  const { title, basePath, start } = find(provider)
  if (options.speed === 0)
    throw new Error('--speed is 0; with that nothing would ever end. 1 is the usual one.')
  const told = untilToldToStop()
  const simulator = await start(options).catch((error: unknown) => {
    if (errorCode(error) !== 'EADDRINUSE') throw error
    throw new Error(`Port ${options.port} is in use. Choose another with --port.`, { cause: error })
  })
  console.info(`Simulated ${title} at ${simulator.url}${basePath} (any key is accepted). Stop with Ctrl-C.`)
  await told
  await simulator.close()
}

function find(provider: string | undefined): SimulatorEntry {
  const known = Object.keys(SIMULATORS).join(', ')
  if (provider === undefined) throw new Error(`Say which provider to simulate. Known: ${known}.`)
  const entry = Object.entries(SIMULATORS).find(([name]) => name === provider)?.[1]
  if (!entry) throw new Error(`There is no simulator for "${provider}". Known: ${known}.`)
  return entry
}
