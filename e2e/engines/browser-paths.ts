import { existsSync } from 'node:fs'

const CHROMIUM = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']
const FIREFOX = ['/usr/bin/firefox-esr']
const MINI_BROWSER = ['x86_64-linux-gnu', 'aarch64-linux-gnu'].map(
  (machine) => `/usr/lib/${machine}/webkit2gtk-4.1/MiniBrowser`,
)

const firstThatExists = (places: string[]) => places.find((place) => existsSync(place))

/** `npm test` finds or installs the browsers and passes them on; a direct `playwright test` looks in the usual places. */
export function chromiumPath(): string {
  const found = process.env.CHROMIUM_PATH ?? firstThatExists(CHROMIUM)
  if (!found) throw new Error('No Chromium found. Run "npm test" once, or set CHROMIUM_PATH.')
  return found
}

/** Undefined: not here. */
export function firefoxPath(): string | undefined {
  return process.env.FIREFOX_PATH ?? firstThatExists(FIREFOX)
}

/** WebKitGTK's own small browser. Undefined: not here. */
export function miniBrowserPath(): string | undefined {
  return process.env.MINIBROWSER_PATH ?? firstThatExists(MINI_BROWSER)
}

export const webKitDriverPath = (): string => process.env.WEBKIT_DRIVER_PATH ?? 'WebKitWebDriver'

/** The screen that nobody sees. */
export const xvfbPath = (): string => process.env.XVFB_PATH ?? 'Xvfb'
