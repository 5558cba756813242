import type { Tx } from '../database/connect.ts'

export interface GivenUp {
  taskId: string
  userId: string
  kind: 'send' | 'poll' | 'cancel' | 'deliver'
  provider: string
  lane: string
  /** Before the last one. */
  attempts: number
  /** For the operator. */
  reason: string
}

/** Keeps what was given up for an operator to see, retry or discard (Q6). */
export async function writeDeadLetter(tx: Tx, letter: GivenUp): Promise<void> {
  await tx`
    insert into holdfast.dead_letters (task_id, user_id, kind, provider, lane, attempts, reason)
    values (${letter.taskId}, ${letter.userId}, ${letter.kind}, ${letter.provider}, ${letter.lane}, ${letter.attempts + 1}, ${letter.reason})
    on conflict (task_id, kind, provider) where resolved_at is null do nothing
  `
}
