import { NoticeList } from './notices/notice-list.tsx'
import type { Notices } from './notices/notices.ts'
import { useSessionState } from './session/session-context.ts'
import { SignInScreen } from './session/sign-in-screen.tsx'
import { Studio } from './studio.tsx'

export function App({ notices }: { notices: Notices }) {
  const { user } = useSessionState()
  return (
    <>
      {user ? <Studio key={user.userId} /> : <SignInScreen />}
      <NoticeList notices={notices} />
    </>
  )
}
