import type { VendorName } from '../provider-settings.ts'
import type { Simulator, SimulatorOptions } from '../providers/simulation/simulator.ts'

export interface SimulatorEntry {
  title: string
  /** What comes after the simulator's address in the base URL that clients are given. */
  basePath: string
  start(options: SimulatorOptions): Promise<Simulator>
}

/** What `holdfast simulate` can run. Each is loaded only when it is wanted. */
export const SIMULATORS: Record<VendorName, SimulatorEntry> = {
  kie: {
    title: 'KIE',
    basePath: '',
    start: async (options) =>
      (await import('../providers/kie/simulator/start-kie-simulator.ts')).startKieSimulator(options),
  },
  replicate: {
    title: 'Replicate',
    basePath: '/v1',
    start: async (options) =>
      (await import('../providers/replicate/simulator/start-replicate-simulator.ts')).startReplicateSimulator(
        options,
      ),
  },
  fal: {
    title: 'fal',
    basePath: '',
    start: async (options) =>
      (await import('../providers/fal/simulator/start-fal-simulator.ts')).startFalSimulator(options),
  },
  runway: {
    title: 'Runway',
    basePath: '',
    start: async (options) =>
      (await import('../providers/runway/simulator/start-runway-simulator.ts')).startRunwaySimulator(options),
  },
  'luma-agents': {
    title: 'Luma (Agents)',
    basePath: '/v1',
    start: async (options) =>
      (
        await import('../providers/luma-agents/simulator/start-luma-agents-simulator.ts')
      ).startLumaAgentsSimulator(options),
  },
  'luma-dream-machine': {
    title: 'Luma (Dream Machine)',
    basePath: '/dream-machine/v1',
    start: async (options) =>
      (
        await import('../providers/luma-dream-machine/simulator/start-luma-dream-machine-simulator.ts')
      ).startLumaDreamMachineSimulator(options),
  },
  'openai-videos': {
    title: 'a gateway with OpenAI’s videos API',
    basePath: '/v1',
    start: async (options) =>
      (
        await import('../providers/openai-videos/simulator/start-openai-videos-simulator.ts')
      ).startOpenAiVideosSimulator(options),
  },
}
