import './styles/tokens.css'
import './styles/base.css'
import { createClient } from '@holdfast/client'
import { HoldfastProvider } from '@holdfast/client/react'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { App } from './app.tsx'
import { deviceFrom } from './device/device.ts'
import { DeviceContext } from './device/device-context.ts'
import { loadDevtools, wantsDevtools } from './devtools/load-devtools.ts'
import { createNotices } from './notices/notices.ts'
import { parseRoute } from './route/route.ts'
import { navigate } from './route/use-route.ts'
import { createSavedSessionStore } from './session/saved-session.ts'
import { createSession } from './session/session.ts'
import { SessionContext } from './session/session-context.ts'
import { applyTheme, savedTheme } from './theme/theme.ts'

applyTheme(savedTheme())

const device = deviceFrom(window.location.search)
// Only for those who ask for it, and then before the client is made: it is made with what can be simulated.
const devtools = wantsDevtools(window.location.search) ? await loadDevtools() : null
const client = createClient({ app: device.app, environment: devtools?.environment })
devtools?.mount(client)
const session = createSession(client, createSavedSessionStore(device.app))
const notices = createNotices(client, {
  isOnScreen: (conversationId) => {
    if (document.visibilityState !== 'visible') return false
    const route = parseRoute(window.location.hash)
    return conversationId === null
      ? route.at === 'unfiled'
      : route.at === 'conversation' && route.conversationId === conversationId
  },
})

// Before the page listens: the next person must not open at the former one's conversation.
let lastUserId: string | undefined
session.subscribe(() => {
  const userId = session.getState().user?.userId
  if (lastUserId !== undefined && userId !== lastUserId) navigate({ at: 'start' }, { replace: true })
  lastUserId = userId
})

// Listening comes before signing in, so that nothing is told to an empty room.
notices.start()
session.start()

const root = document.getElementById('root')
if (!root) throw new Error('index.html has no element with the id "root".')
createRoot(root).render(
  <StrictMode>
    <DeviceContext value={device}>
      <SessionContext value={session}>
        <HoldfastProvider client={client}>
          <App notices={notices} />
        </HoldfastProvider>
      </SessionContext>
    </DeviceContext>
  </StrictMode>,
)
