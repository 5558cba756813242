import { xvfbPath } from './browser-paths.ts'
import type { Engine } from './engine.ts'
import { startHelper } from './helper-process.ts'
import { openWebKitDevice } from './webkit-device.ts'

/** WebKitGTK by plain WebDriver, in its own small browser on a screen that nobody sees. */
export async function createWebKitEngine(miniBrowser: string): Promise<Engine> {
  // Without -noreset it starts anew when its last client goes, and refuses who comes at that moment.
  const options = '-displayfd 3 -screen 0 1280x800x24 -nolisten tcp -noreset'
  const screen = await startHelper(xvfbPath(), options.split(' '))
  const display = `:${await screen.firstLine()}`
  return {
    openDevice: () => openWebKitDevice(miniBrowser, display),
    close: screen.stop,
  }
}
