export { HoldfastDevtools, type HoldfastDevtoolsProps } from './holdfast-devtools.ts'
