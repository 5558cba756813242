import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** The built studio: beside `dist` in the published package, in the example's own folder in the repository. */
export function studioDirectory(): string | null {
  const places = [
    new URL('../../../../examples/studio/dist/', import.meta.url),
    new URL('../../studio/', import.meta.url),
  ]
  const built = places.find((place) => existsSync(new URL('index.html', place)))
  return built ? fileURLToPath(built) : null
}
