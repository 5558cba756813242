import { startKieSimulator } from '../providers/kie/simulator/start-kie-simulator.ts'
import { untilToldToStop } from './until-told-to-stop.ts'

export async function runSimulate(
  provider: string | undefined,
  options: { port: number; stateFile?: string; speed: number; fileTtlMs?: number },
): Promise<void> {
  if (provider !== 'kie')
    throw new Error(`There is no simulator for "${provider ?? ''}". Known: kie. Try "holdfast simulate kie".`)
  const told = untilToldToStop()
  const { stateFile, ...rest } = options
  const simulator = await startKieSimulator({ ...rest, ...(stateFile ? { stateFile } : {}) })
  console.info(`Simulated KIE at ${simulator.url} (any key is accepted). Stop with Ctrl-C.`)
  await told
  await simulator.close()
}
