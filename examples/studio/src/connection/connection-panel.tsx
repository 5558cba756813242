import './connection-panel.css'
import { useConnection } from '@holdfast/client/react'
import { devtoolsUrl, wantsDevtools } from '../devtools/load-devtools.ts'
import { Icon } from '../ui/icon.tsx'
import { CONNECTION_TEXT, ROLE_TEXT, STORAGE_TEXT } from './connection-text.ts'
import { useClientState } from './use-client-state.ts'

/** What goes on behind the page, for visitors who want to see it: try it with two tabs. */
export function ConnectionPanel() {
  const { connection, role, storage, tabId } = useConnection()
  const count = useClientState((state) => Object.keys(state.tasks).length)
  return (
    <details
      className="connection-panel"
      data-connection={connection}
      data-role={role}
      data-storage={storage}
      data-tab-id={tabId}
    >
      <summary>
        <span className="connection-dot" aria-hidden="true" />
        <span>
          <span className="visually-hidden">This tab: </span>
          {ROLE_TEXT[role].label} · {CONNECTION_TEXT[connection].label}
        </span>
        <Icon name="chevron" />
      </summary>
      <dl>
        <Fact
          name="Connection"
          value={CONNECTION_TEXT[connection].label}
          about={CONNECTION_TEXT[connection].about}
        />
        <Fact name="Role" value={ROLE_TEXT[role].label} about={ROLE_TEXT[role].about} />
        <Fact name="Storage" value={STORAGE_TEXT[storage].label} about={STORAGE_TEXT[storage].about} />
        <Fact
          name="Tasks"
          value={String(count)}
          about="Unfinished and recently ended ones, known to this tab."
        />
        <Fact
          name="Tab"
          value={tabId.slice(0, 8) || '–'}
          about="How the tabs of this browser tell each other apart."
        />
      </dl>
      {!wantsDevtools(window.location.search) && (
        <a className="connection-more" href={devtoolsUrl(window.location)}>
          Open the devtools
        </a>
      )}
    </details>
  )
}

function Fact({ name, value, about }: { name: string; value: string; about: string }) {
  return (
    <div className="fact">
      <dt>{name}</dt>
      <dd>
        <span className="fact-value">{value}</span>
        <span className="fact-about">{about}</span>
      </dd>
    </div>
  )
}
