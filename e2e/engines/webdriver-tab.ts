import type { Part, Tab } from './engine.ts'
import { elementId, WebDriverError, type WebDriverSession } from './webdriver.ts'

interface Options {
  /** Kept in the page as `window.name`, by which a later session can tell the windows apart. */
  name: string
  /** Runs while the session looks at this tab's window. */
  look<T>(act: (session: WebDriverSession) => Promise<T>): Promise<T>
  crash(): Promise<void>
}

/** Where to look for a role. Which of them it is, the browser says: it computes the accessible name. */
const CANDIDATES: Record<Part['role'], string> = {
  textbox: 'textarea, input',
  button: 'button',
  heading: 'h1, h2, h3',
  article: 'article',
}

/** Enter, as the standard writes it into text. */
const ENTER = '\uE007'

export function createWebDriverTab({ name, look, crash }: Options): Tab {
  return {
    goto: (url) =>
      look(async (session) => {
        await session.command('POST', '/url', { url })
        await evaluate(session, (own) => (window.name = own), name)
      }),
    reload: () => look(async (session) => void (await session.command('POST', '/refresh'))),
    close: () => look(async (session) => void (await session.command('DELETE', '/window'))),
    crash,
    isShown: (part) => look(async (session) => (await findShown(session, part)) !== undefined),
    click: (part) =>
      look((session) =>
        untilFresh(async () => {
          await session.command('POST', `/element/${await waitFor(session, part)}/click`)
        }),
      ),
    type: (part, text) =>
      look((session) =>
        untilFresh(async () => {
          await session.command('POST', `/element/${await waitFor(session, part)}/value`, { text })
        }),
      ),
    pressEnter: () =>
      look(async (session) => {
        const focused = elementId(await session.command('GET', '/element/active'))
        await session.command('POST', `/element/${focused}/value`, { text: ENTER })
      }),
    evaluate: (run, argument) => look((session) => evaluate(session, run, argument)),
  }
}

export async function evaluate<R, A>(
  session: WebDriverSession,
  run: (argument: A) => R,
  argument: A,
): Promise<R> {
  const script = `return (${run})(arguments[0])`
  return (await session.command('POST', '/execute/sync', { script, args: [argument] })) as R
}

/** As Playwright does before it acts. */
async function waitFor(session: WebDriverSession, part: Part): Promise<string> {
  const giveUpAt = Date.now() + 15_000
  for (;;) {
    const found = await findShown(session, part)
    if (found) return found
    if (Date.now() > giveUpAt) throw new Error(`There is no ${part.role} named ${part.name}.`)
  }
}

/** Begins anew when React has replaced what was found before it was used: the driver has done nothing then. */
async function untilFresh<T>(act: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await act()
    } catch (error) {
      if (!isStale(error)) throw error
    }
  }
}

function isStale(error: unknown): boolean {
  return error instanceof WebDriverError && error.code === 'stale element reference'
}

async function findShown(session: WebDriverSession, part: Part): Promise<string | undefined> {
  // WebKit's driver may fail so while it makes the list.
  const found = await untilFresh(
    () =>
      session.command('POST', '/elements', {
        using: 'css selector',
        value: CANDIDATES[part.role],
      }) as Promise<unknown[]>,
  )
  for (const id of found.map(elementId)) {
    try {
      const [role, label, isShown] = [
        await session.command('GET', `/element/${id}/computedrole`),
        await session.command('GET', `/element/${id}/computedlabel`),
        await session.command('GET', `/element/${id}/displayed`),
      ]
      if (role === part.role && isShown && hasName(String(label), part)) return id
    } catch (error) {
      // React replaced it meanwhile.
      if (!isStale(error)) throw error
    }
  }
  return undefined
}

function hasName(label: string, { name, exact }: Part): boolean {
  if (name instanceof RegExp) return name.test(label)
  return exact ? label === name : label.toLowerCase().includes(name.toLowerCase())
}
