import { readFileSync } from 'node:fs'

/** Of this package. Sources and built files are both one folder below its manifest. */
export function readVersion(): string {
  const manifest = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
  return String(manifest.version)
}
