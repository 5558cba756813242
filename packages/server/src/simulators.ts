import './require-node.ts'

export {
  type FalSimulator,
  type FalSimulatorOptions,
  startFalSimulator,
} from './providers/fal/simulator/start-fal-simulator.ts'
export {
  type KieSimulator,
  type KieSimulatorOptions,
  startKieSimulator,
} from './providers/kie/simulator/start-kie-simulator.ts'
export {
  type LumaAgentsSimulatorOptions,
  startLumaAgentsSimulator,
} from './providers/luma-agents/simulator/start-luma-agents-simulator.ts'
export {
  type LumaDreamMachineSimulatorOptions,
  startLumaDreamMachineSimulator,
} from './providers/luma-dream-machine/simulator/start-luma-dream-machine-simulator.ts'
export {
  type OpenAiVideosSimulatorOptions,
  startOpenAiVideosSimulator,
} from './providers/openai-videos/simulator/start-openai-videos-simulator.ts'
export {
  type ReplicateSimulatorOptions,
  startReplicateSimulator,
} from './providers/replicate/simulator/start-replicate-simulator.ts'
export {
  type RunwaySimulatorOptions,
  startRunwaySimulator,
} from './providers/runway/simulator/start-runway-simulator.ts'
export type { Ending, Script, Step } from './providers/simulation/simulated-task.ts'
export type { Simulator, SimulatorOptions, SimulatorRequest } from './providers/simulation/simulator.ts'
