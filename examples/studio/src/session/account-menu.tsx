import './account-menu.css'
import { useRef, useState } from 'react'
import { otherDeviceUrl } from '../device/device.ts'
import { useDevice } from '../device/device-context.ts'
import { ThemeChoice } from '../theme/theme-choice.tsx'
import { Icon } from '../ui/icon.tsx'
import { Avatar } from './avatar.tsx'
import { useSession, useSignedInUser } from './session-context.ts'
import { SwitchPersonDialog } from './switch-person-dialog.tsx'

/** A popover of plain buttons and links: Escape, a click beside it and the tab order come from the browser. */
export function AccountMenu() {
  const session = useSession()
  const user = useSignedInUser()
  const device = useDevice()
  const menu = useRef<HTMLDivElement>(null)
  const [isSwitching, setSwitching] = useState(false)
  const close = () => menu.current?.hidePopover()

  return (
    <>
      <button
        type="button"
        className="account-button"
        popoverTarget="account-menu"
        aria-label={`Account: ${user.name}`}
      >
        <Avatar name={user.name} />
        <span className="account-name">{user.name}</span>
        <Icon name="chevron" />
      </button>
      <div ref={menu} id="account-menu" className="account-menu" popover="auto">
        <p className="menu-head">
          Signed in as <strong>{user.name}</strong>
          {device.name && <> on the {device.name}</>}
        </p>
        <a
          className="menu-item"
          href={window.location.search || '?'}
          target="_blank"
          rel="noopener"
          onClick={close}
        >
          <Icon name="tab" />
          <span>
            Open another tab
            <small>Both update over one connection</small>
          </span>
        </a>
        <a
          className="menu-item"
          href={otherDeviceUrl(device, user.name)}
          target="_blank"
          rel="noopener"
          onClick={close}
        >
          <Icon name="device" />
          <span>
            Open as another device
            <small>With its own storage, connection and sign-in</small>
          </span>
        </a>
        <button
          type="button"
          className="menu-item"
          onClick={() => {
            close()
            setSwitching(true)
          }}
        >
          <Icon name="person" />
          <span>Switch person</span>
        </button>
        <button type="button" className="menu-item" onClick={() => void session.signOut()}>
          <Icon name="logout" />
          <span>
            Log out
            <small>Everywhere in this browser; work goes on</small>
          </span>
        </button>
        <div className="menu-theme">
          <ThemeChoice />
        </div>
      </div>
      {isSwitching && <SwitchPersonDialog onClose={() => setSwitching(false)} />}
    </>
  )
}
