import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { rm } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { chromiumPath } from '../../e2e/engines/browser-paths.ts'
import { FLAGS, type Lacking, makeProfile, signal } from './open-browser.ts'

export interface HiddenTab {
  /** Evaluates an expression in it. */
  ask<T>(expression: string): Promise<T>
  /** SIGKILL to its renderer. */
  kill(): void
}

/** A browser whose tabs are all in the background, behind an empty one: throttled as such tabs are. */
export interface HiddenTabs {
  open(url: string): Promise<HiddenTab>
  close(): Promise<void>
}

/**
 * By the bare DevTools protocol: Playwright tells every page that it is visible and has the focus, and starts Chromium
 * with throttling switched off.
 */
export async function openHiddenTabs(lacking: Lacking[]): Promise<HiddenTabs> {
  const profile = await makeProfile()
  const child = spawn(
    chromiumPath(),
    [
      ...FLAGS,
      '--headless=new',
      // A renderer kept in reserve would make it impossible to tell which one a new tab got.
      '--disable-features=SpareRendererForSitePerProcess',
      '--remote-debugging-port=0',
      `--user-data-dir=${profile}`,
      '--intensive-wake-up-throttling-policy=force-enable',
      '--enable-features=IntensiveWakeUpThrottling:grace_period_seconds/1',
      'about:blank',
    ],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  )
  const address = await new Promise<string>((resolve, reject) => {
    createInterface({ input: child.stderr }).on('line', (line) => {
      const found = /DevTools listening on (ws:\S+)/.exec(line)?.[1]
      if (found) resolve(found)
    })
    child.once('exit', () => reject(new Error('Chromium ended before it had begun.')))
  })
  const socket = new WebSocket(address)
  await new Promise((resolve) => socket.addEventListener('open', resolve))
  const waiting = new Map<number, (message: { result?: unknown; error?: { message: string } }) => void>()
  let sent = 0
  socket.addEventListener('message', ({ data }) => {
    const message = JSON.parse(String(data))
    waiting.get(message.id)?.(message)
    waiting.delete(message.id)
  })

  function send<T>(method: string, params: object, sessionId?: string): Promise<T> {
    return new Promise((resolve, reject) => {
      const id = ++sent
      waiting.set(id, ({ result, error }) =>
        error ? reject(new Error(`${method}: ${error.message}`)) : resolve(result as T),
      )
      socket.send(JSON.stringify({ id, method, params, sessionId }))
    })
  }

  async function renderers(): Promise<number[]> {
    const { processInfo } = await send<{ processInfo: { type: string; id: number }[] }>(
      'SystemInfo.getProcessInfo',
      {},
    )
    return processInfo.filter(({ type }) => type === 'renderer').map(({ id }) => id)
  }

  const front = await send<{ targetId: string }>('Target.createTarget', { url: 'about:blank' })
  return {
    async open(url) {
      const before = await renderers()
      const { targetId } = await send<{ targetId: string }>('Target.createTarget', {
        url: 'about:blank',
        background: true,
      })
      const { sessionId } = await send<{ sessionId: string }>('Target.attachToTarget', {
        targetId,
        flatten: true,
      })
      if (lacking.includes('locks')) {
        await send('Page.enable', {}, sessionId)
        await send(
          'Page.addScriptToEvaluateOnNewDocument',
          { source: "Reflect.deleteProperty(Navigator.prototype, 'locks')" },
          sessionId,
        )
      }
      await send('Page.navigate', { url }, sessionId)
      await send('Target.activateTarget', { targetId: front.targetId })
      const [pid] = (await renderers()).filter((id) => !before.includes(id))
      return {
        async ask<T>(expression: string) {
          const { result } = await send<{ result: { value: T } }>(
            'Runtime.evaluate',
            { expression, returnByValue: true, awaitPromise: true },
            sessionId,
          )
          return result.value
        },
        kill() {
          if (pid !== undefined) signal(pid, 'SIGKILL')
        },
      }
    },
    async close() {
      socket.close()
      const exited = once(child, 'exit')
      child.kill('SIGKILL')
      await exited
      await rm(profile, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}
