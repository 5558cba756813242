import type { HoldfastClient, Insight } from '@holdfast/client'

/** What one tab says of itself. */
export interface TabState {
  role: Insight['role']
  connection: Insight['connection']
  restore: Insight['restore']
  storage: Insight['storage']
  level: string | null
  reason: string | null
  epoch: number
  lease: { owner: string; epoch: number; expiresAt: number } | null
  tabId: string
  visible: boolean
  /** `id status version` of every task, sorted. */
  tasks: string[]
  unsent: string[]
}

export function readState(client: HoldfastClient): TabState {
  const { role, connection, restore, storage, tabId, tasks, unsent, session } = client.inspect()
  return {
    role,
    connection,
    restore,
    storage,
    level: session?.level ?? null,
    reason: session?.reason ?? null,
    epoch: session?.epoch ?? 0,
    lease: session?.lease ?? null,
    tabId,
    visible: document.visibilityState === 'visible',
    tasks: Object.values(tasks).map(lineOf).sort(),
    unsent: Object.keys(unsent),
  }
}

export function lineOf({ id, status, version }: { id: string; status: string; version: number }): string {
  return `${id} ${status} ${version}`
}
