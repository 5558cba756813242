export { type DevtoolsOptions, mountDevtools } from './mount-devtools.ts'
export { createSimulation, type Simulation, type SimulationState } from './simulation/create-simulation.ts'
