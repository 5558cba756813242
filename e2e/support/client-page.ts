/** Runs in the browser: an app that is little more than the client. What a spec asks of it hangs on `window.app`. */
import './page-without.ts'
import { createClient, type HoldfastClient } from '../../packages/client/src/index.ts'

/** A time the page was shown: whether it came from the back/forward cache, and what its first frame then said. */
export interface Showing {
  persisted: boolean
  text?: string
}

declare global {
  interface Window {
    app: { client: HoldfastClient; showings: Showing[] }
  }
}

const client = createClient({ app: 'page' })
const showings: Showing[] = []
window.app = { client, showings }

client.store.subscribe(({ tasks, unsent }) => {
  const lines = [...Object.values(unsent), ...Object.values(tasks)].map(({ id, status, params }) => {
    const line = document.createElement('p')
    line.dataset.id = id
    line.textContent = `${params.prompt}: ${status}`
    return line
  })
  document.body.replaceChildren(...lines)
})

addEventListener('pageshow', ({ persisted }) => {
  const showing: Showing = { persisted }
  showings.push(showing)
  requestAnimationFrame(() => {
    showing.text = document.body.textContent ?? ''
  })
})
