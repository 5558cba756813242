interface Props {
  href: string
  title: string
  unread: number
  working: number
  isCurrent: boolean
}

export function ConversationLink({ href, title, unread, working, isCurrent }: Props) {
  return (
    <a
      className="conversation-link"
      href={href}
      aria-current={isCurrent ? 'page' : undefined}
      data-unread={unread > 0 || undefined}
    >
      <span className="conversation-title">{title}</span>
      {working > 0 && (
        <span className="working-mark">
          <span className="working-dot" aria-hidden="true" />
          {working}
          <span className="visually-hidden"> working</span>
        </span>
      )}
      {unread > 0 && (
        <span className="unread-mark">
          {unread}
          <span className="visually-hidden"> unread</span>
        </span>
      )}
    </a>
  )
}
