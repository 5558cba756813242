import { setTimeout as pause } from 'node:timers/promises'
import { freePort } from '../../packages/server/test/free-port.ts'
import { webKitDriverPath } from './browser-paths.ts'
import type { Device } from './engine.ts'
import { startHelper } from './helper-process.ts'
import { killProcessOfPage, takeBallast } from './process-of-page.ts'
import { startSession, WebDriverError, type WebDriverSession } from './webdriver.ts'
import { createWebDriverTab, evaluate } from './webdriver-tab.ts'

/**
 * A driver has one session, and a session one profile, which is kept in memory: so each device is a browser and a
 * driver of its own. The browser is started by us and not by the driver because a crashed page ends the session. The
 * driver then joins the same browser again, where storage and the other tabs are as they were.
 */
export async function openWebKitDevice(miniBrowser: string, display: string): Promise<Device> {
  const { browser, browserPort } = await startBrowser(miniBrowser, display)
  const driverPort = await freePort()
  const driver = await startHelper(webKitDriverPath(), [
    '--host=127.0.0.1',
    `--port=${driverPort}`,
    `--target=127.0.0.1:${browserPort}`,
  ])
  await driver.listensAt(driverPort)

  const join = () => startSession(`http://127.0.0.1:${driverPort}`)
  let session = await join()
  const { browserVersion } = session
  /** Tab → its window's handle in this session. */
  const handles = new Map<string, string>()
  let queue: Promise<unknown> = Promise.resolve()

  /** A session looks at one window at a time: each look waits for the one before. */
  function inTurn<T>(act: () => Promise<T>): Promise<T> {
    const done = queue.then(act)
    queue = done.catch(() => {})
    return done
  }

  async function lookAt(tab: string): Promise<WebDriverSession> {
    const handle = handles.get(tab)
    if (!handle) throw new Error('This tab is closed or has crashed.')
    await session.command('POST', '/window', { handle })
    return session
  }

  async function crash(tab: string): Promise<void> {
    const crashing = await lookAt(tab)
    await killProcessOfPage({
      root: browser.pid,
      matches: /WebKitWebProcess/,
      load: (megabytes) => evaluate(crashing, takeBallast, megabytes),
    })
    while (!(await isOver(crashing))) await pause(20)
    session = await join()
    const living = new Set([...handles.keys()].filter((name) => name !== tab))
    handles.clear()
    for (const handle of (await session.command('GET', '/window/handles')) as string[]) {
      await session.command('POST', '/window', { handle })
      const name = await evaluate(session, () => window.name, null)
      if (living.has(name)) handles.set(name, handle)
    }
  }

  let tabs = 0
  return {
    version: browserVersion,
    openTab: () =>
      inTurn(async () => {
        // The window that was looked at last may be closed.
        const [any] = (await session.command('GET', '/window/handles')) as string[]
        await session.command('POST', '/window', { handle: any })
        // What is in front of another tab of its window hides it.
        const { handle } = (await session.command('POST', '/window/new', { type: 'window' })) as {
          handle: string
        }
        const name = `tab ${++tabs}`
        handles.set(name, handle)
        return createWebDriverTab({
          name,
          look: (act) => inTurn(async () => act(await lookAt(name))),
          crash: () => inTurn(() => crash(name)),
        })
      }),
    async close() {
      await driver.stop()
      await browser.stop()
    },
  }
}

/** Twice at most: the port that was free may be taken by the time the browser wants it. */
async function startBrowser(miniBrowser: string, display: string, isLast = false) {
  const browserPort = await freePort()
  const browser = await startHelper(miniBrowser, ['--automation'], {
    DISPLAY: display,
    WEBKIT_INSPECTOR_SERVER: `127.0.0.1:${browserPort}`,
  })
  try {
    await browser.listensAt(browserPort)
    return { browser, browserPort }
  } catch (error) {
    if (isLast) throw error
    return startBrowser(miniBrowser, display, true)
  }
}

async function isOver(session: WebDriverSession): Promise<boolean> {
  try {
    await session.command('GET', '/window/handles')
    return false
  } catch (error) {
    return error instanceof WebDriverError && error.code === 'invalid session id'
  }
}
