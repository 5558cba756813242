/** What undici needs: with an older one it breaks in the middle of nowhere. `engines` says the same. */
const MAJOR = 22
const MINOR = 19

/** Why Holdfast cannot run on this version of Node, such as `process.versions.node`; null if it can. */
export function nodeProblem(version: string): string | null {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  if (major > MAJOR || (major === MAJOR && minor >= MINOR)) return null
  return `Holdfast needs Node ${MAJOR}.${MINOR} or newer; this is v${version}.`
}
