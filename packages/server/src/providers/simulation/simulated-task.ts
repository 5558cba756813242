import type { Behaviours } from './behaviours.ts'

/** One stretch of a task's life before it ends. */
export interface Step {
  phase: 'queued' | 'working'
  /** The status word told instead of the vendor's own for the phase, such as one that is not documented. */
  says?: string
  forMs: number
}

export type Ending = 'succeeded' | 'failed' | 'cancelled'
export type Phase = Step['phase'] | Ending

/**
 * A task is its start and its plan; where it stands follows from the clock. Nothing ticks, so that a restarted
 * simulator goes on where real time has got to.
 */
export interface SimulatedTask {
  taskId: string
  model: string
  /** As it came, with the words in brackets. */
  prompt: string
  aspectRatio: string
  makesVideo: boolean
  /** The create's body, word for word. */
  request: string
  callbackUrl: string | null
  behaviours: Behaviours
  outputs: number
  createdAt: number
  steps: Step[]
  /** Null for a task that never ends. */
  ending: Ending | null
  /** Cancelled, or finished by hand, before its plan says so. */
  endedEarly: { at: number; ending: Ending } | null
  polls: number
  /** How often each result file was fetched. */
  fetches: number[]
  /** The names of the webhook events that need no more sending. */
  delivered: string[]
}

/** What a create says it wants. */
export interface NewTask {
  model: string
  prompt: string
  aspectRatio?: string
  /** @default guessed from the model's name */
  makesVideo?: boolean
  /** @default 1 */
  outputs?: number
  callbackUrl?: string | null
}

/** What a test, or the person at the keyboard, makes of one task. */
export interface Script {
  /** As in a prompt, without the brackets: `lost`, or `busy:2`. */
  words?: string[]
  steps?: Step[]
  ending?: Ending | 'never'
}

/** Words add up; of steps and endings the last counts. */
export function joinScripts(parts: (string | Script)[]): Script {
  const scripts = parts.map((part) => (typeof part === 'string' ? { words: [part] } : part))
  return { ...Object.assign({}, ...scripts), words: scripts.flatMap(({ words }) => words ?? []) }
}

export interface TaskPlan extends NewTask {
  taskId: string
  request: string
  behaviours: Behaviours
  script?: Script
  /** Words of the vendor's own that decide how a task ends. */
  endings?: Record<string, Ending>
  createdAt: number
  /** 2 = twice as fast. */
  speed: number
  random: () => number
}

const VIDEO_MODEL = /video|sora|veo|kling|wan|hailuo|seedance|runway|gen4|pika|ray|dream/i
const IMAGE_MS = 8_000
const VIDEO_MS = 25_000
const UNKNOWN_STATE = 'post_processing'

export function planTask(plan: TaskPlan): SimulatedTask {
  const { behaviours, model, script, speed, random } = plan
  const makesVideo = plan.makesVideo ?? VIDEO_MODEL.test(model)
  const pace = 'fast' in behaviours ? 0.1 : 'slow' in behaviours ? 5 : 1
  const total = ((makesVideo ? VIDEO_MS : IMAGE_MS) * (0.75 + random() * 0.5) * pace) / speed
  const working: Step = { phase: 'working', forMs: total * 0.8 }
  if ('unknown-state' in behaviours) working.says = UNKNOWN_STATE
  const wanted = 'many' in behaviours ? (behaviours.many ?? 4) : (plan.outputs ?? 1)
  const outputs = Math.min(Math.max(Number.isInteger(wanted) ? wanted : 1, 1), 4)
  return {
    taskId: plan.taskId,
    model,
    prompt: plan.prompt,
    aspectRatio: plan.aspectRatio ?? '',
    makesVideo,
    request: plan.request,
    callbackUrl: plan.callbackUrl ?? null,
    behaviours,
    outputs,
    createdAt: plan.createdAt,
    steps: script?.steps ?? [{ phase: 'queued', forMs: total * 0.2 }, working],
    ending: script?.ending === 'never' ? null : (script?.ending ?? endingOf(plan)),
    endedEarly: null,
    polls: 0,
    fetches: Array.from({ length: outputs }, () => 0),
    delivered: [],
  }
}

function endingOf({ behaviours, endings = {} }: TaskPlan): Ending | null {
  if ('stuck' in behaviours) return null
  const [, own] = Object.entries(endings).find(([word]) => word in behaviours) ?? []
  if (own) return own
  return 'fail' in behaviours || 'nsfw' in behaviours ? 'failed' : 'succeeded'
}

/** Null for a task that never ends. */
export function endOf(task: SimulatedTask): number | null {
  if (task.endedEarly) return task.endedEarly.at
  if (task.ending === null) return null
  return task.steps.reduce((at, step) => at + step.forMs, task.createdAt)
}

export interface TaskState {
  phase: Phase
  says: string | null
  /** Per cent of the work done, rising fast at first and slowly at the end, as real ones do. */
  progress: number
  /** When work began; null if it has not. */
  startedAt: number | null
  endedAt: number | null
}

export function stateAt(task: SimulatedTask, now: number): TaskState {
  const startedAt = startOf(task)
  const hasStarted = startedAt !== null && startedAt <= now
  const end = endOf(task)
  const ending = task.endedEarly?.ending ?? task.ending
  const shared = { says: null, startedAt: hasStarted ? startedAt : null }
  if (end !== null && ending !== null && end <= now) {
    const began = hasStarted && startedAt < end ? startedAt : null
    return { ...shared, phase: ending, startedAt: began, progress: 100, endedAt: end }
  }
  let from = task.createdAt
  let current = task.steps.at(-1)
  for (const step of task.steps) {
    if (now < from + step.forMs) {
      current = step
      break
    }
    from += step.forMs
  }
  const lengthMs = Math.max((end ?? task.createdAt + 600_000) - (startedAt ?? task.createdAt), 1)
  const done = hasStarted ? Math.min((now - startedAt) / lengthMs, 1) : 0
  const progress = Math.min(99, Math.floor(100 * Math.sin((done * Math.PI) / 2) ** 1.2))
  return {
    ...shared,
    phase: current?.phase ?? 'working',
    says: current?.says ?? null,
    progress,
    endedAt: null,
  }
}

/** When work begins; null if it never does. */
export function startOf(task: SimulatedTask): number | null {
  let at = task.createdAt
  for (const step of task.steps) {
    if (step.phase === 'working') return at
    at += step.forMs
  }
  return null
}

/** Ends a task now. One that has ended already stays as it is. */
export function endEarly(task: SimulatedTask, now: number, ending?: Ending): void {
  const end = endOf(task)
  if (end !== null && end <= now) return
  task.endedEarly = { at: now, ending: ending ?? task.ending ?? 'succeeded' }
}
