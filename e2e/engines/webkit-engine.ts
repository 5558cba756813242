import { xvfbPath } from './browser-paths.ts'
import type { Engine } from './engine.ts'
import { startHelper } from './helper-process.ts'
import { openWebKitDevice } from './webkit-device.ts'

/** WebKitGTK by plain WebDriver, in its own small browser on a screen that nobody sees. */
export async function createWebKitEngine(miniBrowser: string): Promise<Engine> {
  const screen = await startHelper(xvfbPath(), '-displayfd 3 -screen 0 1280x800x24 -nolisten tcp'.split(' '))
  const display = `:${await screen.firstLine()}`
  return {
    openDevice: () => openWebKitDevice(miniBrowser, display),
    close: screen.stop,
  }
}
