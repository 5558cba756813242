import './top-bar.css'
import type { RefObject } from 'react'
import { useConversations } from './conversations/conversations-context.ts'
import { CreditsBadge } from './credits/credits-badge.tsx'
import { useDevice } from './device/device-context.ts'
import type { Route } from './route/route.ts'
import { AccountMenu } from './session/account-menu.tsx'
import { Icon } from './ui/icon.tsx'

interface Props {
  route: Route
  heading: RefObject<HTMLHeadingElement | null>
  /** Only where the side list is a drawer. */
  onOpenConversations: (() => void) | undefined
}

export function TopBar({ route, heading, onOpenConversations }: Props) {
  const device = useDevice()
  const title = useTitle(route)
  return (
    <header className="top-bar">
      {onOpenConversations && (
        <button
          type="button"
          className="icon-button"
          aria-label="Show conversations"
          onClick={onOpenConversations}
        >
          <Icon name="menu" />
        </button>
      )}
      <h1 ref={heading} tabIndex={-1} title={title}>
        {title}
      </h1>
      {device.name && (
        <p className="device-badge">
          <Icon name="device" />
          <span className="visually-hidden">Playing the device: </span>
          {device.name}
        </p>
      )}
      <CreditsBadge />
      <AccountMenu />
    </header>
  )
}

function useTitle(route: Route): string {
  const { rows } = useConversations()
  if (route.at === 'unfiled') return 'No conversation'
  if (route.at !== 'conversation') return 'New conversation'
  return rows.find((row) => row.id === route.conversationId)?.title ?? 'Conversation'
}
