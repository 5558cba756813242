import { nodeProblem } from './node-version.ts'

// Imported before everything else: modules are evaluated in the order of their imports, so this comes before undici.
const problem = nodeProblem(process.versions.node)
if (problem) throw new Error(problem)
