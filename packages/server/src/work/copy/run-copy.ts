import { resultKey } from '../../artifacts/result-key.ts'
import { untilWritten } from '../../database/until-written.ts'
import { isStoreAway } from '../../objects/object-store-error.ts'
import { outageLogOf } from '../../outage-log.ts'
import type { RefreshOutcome } from '../../providers/provider.ts'
import type { ClaimedCopy } from './claim-copies.ts'
import type { CopyContext } from './copy-context.ts'
import { type CopyFailure, copyFile } from './copy-file.ts'
import { copyLimit, retryCopyDelay } from './copy-pace.ts'
import { EXPIRED_TEXT, givenUpText } from './copy-problems.ts'
import {
  dropCopy,
  handBackCopies,
  isLeftOver,
  writeExpired,
  writeFailure,
  writeGivenUp,
  writeRefresh,
} from './copy-writes.ts'

/** After so many tries in vain somebody is told. */
const TELL_AFTER = 3
/**
 * A provider may be slow to show what it has just finished, and a proxy may show its own page for a while; said so
 * often, "not there" and "something else" mean what they say.
 */
const BELIEVE_AFTER = 3
/** These follow from the URL and our own rules: asking again changes nothing. */
const BELIEVED_AT_ONCE = new Set(['TOO_LARGE', 'FORBIDDEN_ADDRESS', 'BAD_URL', 'SCHEME'])
/** Nobody waits for a file any more that could not be copied in a week, even if its source is still there. */
const GIVE_UP_AFTER_MS = 7 * 24 * 60 * 60_000
const LONGEST_REASON = 500

/** One try to copy a file. The task stays as it is, whatever becomes of it. */
export interface CopyRun {
  context: CopyContext
  work: ClaimedCopy
  /** Aborted when the engine stops, or when somebody else has taken the file over. */
  signal: AbortSignal
  /** When the work was claimed, by `performance.now()`. */
  claimedAt: number
  /** Called when no more bytes will move: another file may begin. */
  moved(): void
}

/** Copies one file and writes down how it went. */
export async function runCopy(run: CopyRun): Promise<void> {
  const { context, work } = run
  if (work.artifactId === null || work.state !== 'remote') return clearUp(run)
  if (work.problem !== null) return expire(run, 'the source is dead')

  const first = await copy(run, work.sourceUrl)
  if (first.kind !== 'failed' || first.code !== 'EXPIRED') return conclude(run, first)
  const refreshed = await refresh(run)
  if (refreshed === null) return conclude(run, first)
  if (refreshed.kind === 'gone') return expire(run, `gone: ${refreshed.reason}`)
  if (refreshed.kind === 'inconclusive') {
    return conclude(run, { ...first, code: 'REFRESH_FAILED', reason: refreshed.reason })
  }
  const { url, urlLifetimeMs } = refreshed
  const isHeld = await written(run, () => writeRefresh(context, work, { url, lifetimeMs: urlLifetimeMs }))
  if (!isHeld) return
  const anew = { ...run, work: { ...work, leftMs: urlLifetimeMs }, claimedAt: performance.now() }
  return conclude(anew, await copy(anew, url))
}

type Copied = Awaited<ReturnType<typeof copyFile>>

function copy({ context, work, signal }: CopyRun, url: string): Promise<Copied> {
  const { source, objects, options, providers } = context
  return copyFile({
    source,
    objects,
    url,
    headers: providers.get(work.provider)?.sourceHeaders?.(url),
    key: resultKey(work),
    expectedType: work.contentType,
    maxBytes: options.maxBytes,
    allowLoopback: options.allowLoopback,
    limitMs: copyLimit(work.attempts),
    signal,
  })
}

/** Asks the provider for another URL. Null where there is nobody to ask. */
async function refresh({ context, work, signal }: CopyRun): Promise<RefreshOutcome | null> {
  const { externalId, firstUrl, sourceUrl, ordinal } = work
  const calls = context.calls.get(work.provider)
  if (!calls || externalId === null) return null
  return calls.refresh(work, { externalId, url: firstUrl ?? sourceUrl, ordinal }, signal)
}

async function conclude(run: CopyRun, outcome: Copied): Promise<void> {
  const { context, work } = run
  // First, so that no other file is begun with a store that is away.
  if (outcome.kind === 'copied') {
    context.breaker.succeeded()
    outageLogOf(context.log, 'The object store').back()
  }
  // A store that refuses one file takes the others.
  if (outcome.kind === 'failed' && outcome.at === 'store' && outcome.retryable)
    context.breaker.failed(performance.now())
  run.moved()

  if (outcome.kind === 'copied') return keep(run, outcome)
  if (outcome.kind === 'stopped') {
    if (context.stopping.aborted) await handBackCopies(context.sql, [work])
    return
  }
  if (outcome.at === 'source' && isOver(run, outcome)) return expire(run, describe(outcome))
  if (isHopeless(run, outcome)) return giveUp(run, outcome)
  return comeBack(run, outcome)
}

function isHopeless({ work }: CopyRun, { code, retryable }: CopyFailure): boolean {
  if (work.ageMs > GIVE_UP_AFTER_MS || BELIEVED_AT_ONCE.has(code)) return true
  return !retryable && code !== 'EXPIRED' && work.attempts + 1 >= BELIEVE_AFTER
}

/** Whether the file is gone at its source, as opposed to not there yet or not there right now. */
function isOver(run: CopyRun, { code, retryable }: CopyFailure): boolean {
  if (code === 'REFRESH_FAILED') return false
  const left = leftMs(run)
  if (code === 'EXPIRED') return (left !== null && left <= 0) || run.work.attempts + 1 >= BELIEVE_AFTER
  // Past its promised life a source that gives nothing out is dead; one that does goes on being tried.
  return retryable && left !== null && left <= 0 && !canRefresh(run)
}

async function keep(run: CopyRun, file: Extract<Copied, { kind: 'copied' }>): Promise<void> {
  const { context, work } = run
  const { workId, epoch, taskId, userId, ordinal, traceId } = work
  const artifactId = work.artifactId ?? ''
  const { bytes, sha256, contentType } = file
  const key = resultKey(work)
  const stored = await written(run, () =>
    context.store({ workId, epoch, taskId, userId, ordinal, artifactId, key, bytes, sha256, contentType }),
  )
  if (!stored) return removeLeftOver(run, key)
  context.metrics.mirrored(work.provider, { bytes, leftMs: leftMs(run) })
  context.log.info({ taskId, traceId, ordinal, bytes, attempts: work.attempts }, 'a result is stored')
}

async function comeBack(run: CopyRun, failure: CopyFailure): Promise<void> {
  const { context, work } = run
  const delayMs = retryCopyDelay({
    attempts: work.attempts,
    random: context.random(),
    leftMs: leftMs(run),
  })
  const error = describe(failure)
  if (!(await written(run, () => writeFailure(context, work, { error, delayMs })))) return
  note(run, failure, 'a result could not be copied; it is tried again')
  if (work.attempts + 1 === TELL_AFTER) tell(run, error, 'It is tried again until its source has died.')
}

async function giveUp(run: CopyRun, failure: CopyFailure): Promise<void> {
  const { context, work } = run
  const error = describe(failure)
  const problem = givenUpText(failure.code)
  if (!(await written(run, () => writeGivenUp(context, work, { error, problem })))) return
  note(run, failure, 'a result will not be copied; it stays at its provider')
  if (work.attempts < TELL_AFTER) tell(run, error, 'It is not tried again and stays at its provider.')
}

async function expire(run: CopyRun, error: string): Promise<void> {
  const { context, work } = run
  run.moved()
  // What was given up earlier stayed at its source for all of its life there: it was not lost.
  const lost = work.problem === null ? context.aftermath : null
  const isHeld = await written(run, () => writeExpired(context, work, { error, problem: EXPIRED_TEXT, lost }))
  if (!isHeld) return
  context.metrics.mirrorFailed(work.provider, 'source', 'EXPIRED')
  context.log.error({ ...about(run), error }, 'a result died at its source before it could be copied')
  if (work.problem === null && work.attempts < TELL_AFTER)
    tell(run, error, 'Its source has died: it is lost.')
}

/** Somebody else ended it meanwhile: by a copy, or because its time was over. */
async function clearUp(run: CopyRun): Promise<void> {
  const { context, work } = run
  run.moved()
  // The object first: without the work nobody would know of it.
  if (work.artifactId !== null && work.state !== 'stored') await context.objects.delete([resultKey(work)])
  await dropCopy(context.sql, work)
}

async function removeLeftOver({ context, work }: CopyRun, key: string): Promise<void> {
  const { sql, objects, log } = context
  const { taskId, traceId, ordinal } = work
  if (!(await isLeftOver(sql, { taskId, ordinal, artifactId: work.artifactId ?? '', key }))) return
  log.info(
    { taskId, traceId, ordinal },
    'a result was not wanted any more when it had been copied; it is removed',
  )
  await objects.delete([key])
}

function canRefresh({ context, work }: CopyRun): boolean {
  return context.providers.get(work.provider)?.refresh !== undefined && work.externalId !== null
}

function leftMs({ work, claimedAt }: CopyRun): number | null {
  return work.leftMs === null ? null : work.leftMs - (performance.now() - claimedAt)
}

function written<T>({ context }: CopyRun, write: () => Promise<T>): Promise<T> {
  return untilWritten(write, context.log, context.givenUp)
}

function note(run: CopyRun, failure: CopyFailure, sentence: string): void {
  const { context, work } = run
  context.metrics.mirrorFailed(work.provider, failure.at, failure.code)
  const isAway = failure.at === 'store' && isStoreAway(failure)
  if (isAway) outageLogOf(context.log, 'The object store').away(failure.reason)
  const { at, code, reason } = failure
  context.log[isAway ? 'debug' : 'warn']({ ...about(run), at, code, reason }, sentence)
}

function tell(run: CopyRun, error: string, whatNow: string): void {
  const { work } = run
  run.context.alert({
    name: 'result-not-copied',
    key: work.artifactId ?? work.workId,
    level: 'critical',
    message: `A result of task ${work.taskId} could not be copied to the object store (${error}). ${whatNow}`,
    details: about(run),
  })
}

function about({ work }: CopyRun) {
  const { taskId, traceId, ordinal, provider, attempts } = work
  return { taskId, traceId, ordinal, provider, attempts: attempts + 1 }
}

/** One line, without what PostgreSQL could not store: a store may answer with anything. */
function describe({ at, code, reason }: CopyFailure): string {
  return `${at}: ${code}: ${reason}`.replace(/[\p{Cc}\p{Cs}\s]+/gu, ' ').slice(0, LONGEST_REASON)
}
