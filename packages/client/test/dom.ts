import { Window } from 'happy-dom'

/**
 * A document for React to render into; import it before React DOM. Everything else stays Node's own: vitest's
 * `happy-dom` environment would also replace `fetch` and `AbortController`, and hide the Web Locks.
 */
const window = new Window({ url: 'http://localhost:3000' })

for (const name of ['document', 'HTMLElement', 'HTMLIFrameElement', 'Node', 'MutationObserver'] as const) {
  Object.defineProperty(globalThis, name, { value: window[name], configurable: true })
}
Object.defineProperty(globalThis, 'window', { value: window, configurable: true })
