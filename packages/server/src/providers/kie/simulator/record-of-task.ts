import { endOf, type SimulatedTask, stateAt } from '../../simulation/simulated-task.ts'
import { creditsFor, phaseAt, wordAt } from './simulated-task.ts'

export interface RecordOptions {
  now: number
  urls: string[]
  /** `progress` is documented for sora2 models only. */
  progressForAll: boolean
}

/** The `data` of `recordInfo`, with its strings inside strings and its times in milliseconds. */
export function recordOfTask(task: SimulatedTask, { now, urls, progressForAll }: RecordOptions) {
  const { behaviours } = task
  const phase = phaseAt(task, now)
  const end = endOf(task)
  const ended = end !== null && end <= now
  const failed = phase === 'fail'
  const hasProgress = progressForAll || 'progress' in behaviours || /sora/i.test(task.model)
  return {
    taskId: task.taskId,
    model: task.model,
    state: wordAt(task, now),
    param: task.request,
    resultJson: phase === 'success' ? resultJsonOf(task, urls) : '',
    failCode: failed ? ('nsfw' in behaviours ? '422' : '500') : '',
    failMsg: failed ? failMsgOf(task) : '',
    costTime: phase === 'success' && end !== null ? Math.round(end - task.createdAt) : null,
    createTime: timeOf(task, task.createdAt),
    updateTime: timeOf(task, ended ? end : now),
    completeTime: ended ? timeOf(task, end) : null,
    creditsConsumed: failed ? 0 : creditsFor(task),
    ...(hasProgress ? { progress: stateAt(task, now).progress } : {}),
  }
}

function timeOf({ behaviours }: SimulatedTask, at: number): number | string {
  const ms = Math.floor(at)
  return 'text-times' in behaviours ? new Date(ms).toISOString().slice(0, 19).replace('T', ' ') : ms
}

function failMsgOf({ behaviours }: SimulatedTask): string {
  return 'nsfw' in behaviours
    ? 'Your prompt was flagged by our content policy. Please adjust it and try again.'
    : 'Internal error, please try again later.'
}

function resultJsonOf({ behaviours, polls }: SimulatedTask, resultUrls: string[]): unknown {
  const json = JSON.stringify({ resultUrls })
  if ('empty-result' in behaviours) return ''
  if ('null-result' in behaviours) return null
  if ('text-result' in behaviours) return JSON.stringify({ resultObject: { text: 'No picture, but words.' } })
  if ('object-result' in behaviours) return { resultUrls }
  if ('bad-result' in behaviours) return json.slice(0, -9)
  if ('late-result' in behaviours && polls <= (behaviours['late-result'] ?? 2)) return json.slice(0, -9)
  return json
}
