import type { Credits, Task } from '@holdfast/client'

/** What became of the credits of a task that failed; null while that is not known. */
export function refundText(credits: Credits | null, { id }: Pick<Task, 'id'>): string | null {
  const refund = credits?.ledger.find(({ kind, taskId }) => kind === 'refund' && taskId === id)
  if (!refund || refund.amount === 0) return null
  return refund.amount === 1 ? '1 credit is back.' : `${refund.amount} credits are back.`
}
