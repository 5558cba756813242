import type { Insight } from '../../create-client.ts'
import type { ClientState } from '../../store/task-store.ts'
import type { RoleFacts } from './why-role.ts'

/** What a tab says of itself when the roll is called. */
export interface TabFacts extends RoleFacts {
  tabId: string
  connection: ClientState['connection']
  epoch: number
  visible: boolean
  /** Where it is: the address without its origin. */
  path: string
}

export function factsOf(insight: Insight, place: Pick<TabFacts, 'visible' | 'path'>): TabFacts {
  const { tabId, role, connection, session } = insight
  const { reason, level, epoch = 0 } = session ?? {}
  return { tabId, role, connection, reason, level, epoch, ...place }
}

export function isTabFacts(value: unknown): value is TabFacts {
  const { tabId, role, epoch, path } = (value ?? {}) as Partial<TabFacts>
  return [tabId, role, path].every((text) => typeof text === 'string') && typeof epoch === 'number'
}
