import './sidebar.css'
import { ConnectionPanel } from '../connection/connection-panel.tsx'
import { hrefOf, type Route } from '../route/route.ts'
import { BrandMark } from '../ui/brand-mark.tsx'
import { Icon } from '../ui/icon.tsx'
import { ConversationList } from './conversation-list.tsx'

export function Sidebar({ route }: { route: Route }) {
  return (
    <div className="sidebar">
      <p className="brand">
        <BrandMark />
        Holdfast Studio
      </p>
      <a className="button new-conversation" href={hrefOf({ at: 'new' })}>
        <Icon name="plus" />
        New conversation
      </a>
      <h2 className="sidebar-heading">Conversations</h2>
      <ConversationList route={route} />
      <ConnectionPanel />
    </div>
  )
}
