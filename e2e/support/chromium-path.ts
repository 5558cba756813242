import { existsSync } from 'node:fs'

const PLACES = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']

/** `npm test` finds or installs one and passes it on; a direct `playwright test` looks in the usual places. */
export function chromiumPath(): string {
  const found = process.env.CHROMIUM_PATH ?? PLACES.find((place) => existsSync(place))
  if (!found) throw new Error('No Chromium found. Run "npm test" once, or set CHROMIUM_PATH.')
  return found
}
