import './notice-list.css'
import { useSyncExternalStore } from 'react'
import { Icon } from '../ui/icon.tsx'
import type { Notices } from './notices.ts'

/** One polite live region for everything that is told, whether the eye needs it or not. */
export function NoticeList({ notices }: { notices: Notices }) {
  const list = useSyncExternalStore(notices.subscribe, notices.getState)
  return (
    <div className="notices" role="status" aria-live="polite" aria-atomic="false">
      {list.map((notice) => (
        <div key={notice.id} className={notice.quiet ? 'visually-hidden' : `notice ${notice.tone}`}>
          <p>{notice.text}</p>
          {!notice.quiet && notice.href && (
            <a href={notice.href} onClick={() => notices.dismiss(notice.id)}>
              Show
            </a>
          )}
          {!notice.quiet && (
            <button
              type="button"
              className="icon-button small"
              aria-label="Dismiss notice"
              onClick={() => notices.dismiss(notice.id)}
            >
              <Icon name="close" />
            </button>
          )}
        </div>
      ))}
    </div>
  )
}
