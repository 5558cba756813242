import type { SessionInsight } from '../../accounts/session.ts'
import type { ClientState } from '../../store/task-store.ts'
import { shortId } from './short-id.ts'

export type RoleFacts = Pick<ClientState, 'role'> & Partial<Pick<SessionInsight, 'reason' | 'level'>>

const WHY: Record<SessionInsight['reason'], string> = {
  free: 'Nobody led when it asked, so it took the lead.',
  freed: 'The tab that led before closed, crashed or was put away, and the lead became free.',
  'no-answer': 'The tab that led before did not answer for two seconds, so it was relieved of the lead.',
  'handed-to-us': 'The tab that led before was hidden for five seconds, and handed over to this visible one.',
  'other-leads': 'Another tab leads, and passes everything on.',
  'handed-over': 'It was hidden for five seconds, so it handed the lead to a visible tab.',
  robbed: 'It stood still, or the server met a newer leader, so the lead was taken from it.',
  away: 'It takes no part yet, or no more: the page is starting, frozen or in the back/forward cache.',
}

/** Why a tab has its role, in a sentence. `leader`: the id of the tab that leads, where it is known. */
export function whyRole({ role, reason, level }: RoleFacts, leader?: string | null): string {
  if (!reason) return 'Nobody is signed in, so there is nothing to lead.'
  if (level === 'every-tab' && role === 'leader') {
    return 'This browser offers no way to choose one tab, so each asks the server for itself.'
  }
  if (reason === 'other-leads' && leader) return `Tab ${shortId(leader)} leads, and passes everything on.`
  return WHY[reason]
}

export const LEVEL_TEXT: Record<SessionInsight['level'], string> = {
  'web-lock': 'Web Lock',
  indexeddb: 'IndexedDB lease',
  'every-tab': 'Every tab for itself',
}
