import type { Sql } from '../src/database/connect.ts'
import type { ClaimOptions } from '../src/engine/claim-within-budget.ts'
import { claimCancels as cancels } from '../src/work/cancel/claim-cancels.ts'
import { claimPolls as polls } from '../src/work/poll/claim-polls.ts'
import { claimSends as sends } from '../src/work/send/claim-sends.ts'

// What was claimed, without when to come again.

export const claimPolls = async (sql: Sql, options: ClaimOptions) => [...(await polls(sql, options)).works]
export const claimCancels = async (sql: Sql, options: ClaimOptions) => [
  ...(await cancels(sql, options)).works,
]

/** @param types those that are offered @default image and video */
export const claimSends = async (
  sql: Sql,
  { types = ['image', 'video'], ...options }: ClaimOptions & { types?: readonly string[] },
) => [...(await sends(sql, { ...options, types })).works]
