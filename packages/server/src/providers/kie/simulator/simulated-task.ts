import { randomBytes } from 'node:crypto'
import type { Behaviours } from './behaviours.ts'

/**
 * A task is its start and its plan; where it stands follows from the clock. Nothing ticks, so that a restarted
 * simulator goes on where real time has got to.
 */
export interface SimulatedTask {
  taskId: string
  model: string
  prompt: string
  aspectRatio: string
  /** The create's body, word for word. */
  param: string
  callBackUrl: string | null
  behaviours: Behaviours
  outputs: number
  createdAt: number
  /** Lengths of `waiting`, `queuing` and `generating`; the last is null for a task that never ends. */
  waitMs: number
  queueMs: number
  workMs: number | null
  polls: number
  calledBack: boolean
}

export type Phase = 'waiting' | 'queuing' | 'generating' | 'success' | 'fail'

const VIDEO_MODEL = /video|sora|veo|kling|wan|hailuo|seedance|runway|pika/i
const IMAGE_MS = 8_000
const VIDEO_MS = 25_000

export function makesVideo(model: string): boolean {
  return VIDEO_MODEL.test(model)
}

export function creditsFor(task: SimulatedTask): number {
  return (makesVideo(task.model) ? 30 : 4) * task.outputs
}

export interface TaskPlan {
  model: string
  prompt: string
  aspectRatio: string
  param: string
  callBackUrl: string | null
  behaviours: Behaviours
  count: number
  createdAt: number
  /** 2 = twice as fast. */
  speed: number
  random: () => number
}

export function planTask({ count, speed, random, ...plan }: TaskPlan): SimulatedTask {
  const { behaviours, model } = plan
  const pace = 'fast' in behaviours ? 0.1 : 'slow' in behaviours ? 5 : 1
  const total = ((makesVideo(model) ? VIDEO_MS : IMAGE_MS) * (0.75 + random() * 0.5) * pace) / speed
  const name = model.toLowerCase().replace(/[^a-z0-9]+/g, '-')
  return {
    ...plan,
    taskId: `task_${name}_${Math.floor(plan.createdAt)}${randomBytes(4).toString('hex')}`,
    outputs: Math.min(Math.max('many' in behaviours ? (behaviours.many ?? 4) : count, 1), 4),
    waitMs: total * 0.08,
    queueMs: total * 0.12,
    workMs: 'stuck' in behaviours ? null : total * 0.8,
    polls: 0,
    calledBack: false,
  }
}

/** Null for a task that never ends. */
export function endOf(task: SimulatedTask): number | null {
  return task.workMs === null ? null : task.createdAt + task.waitMs + task.queueMs + task.workMs
}

export function phaseAt(task: SimulatedTask, now: number): Phase {
  const age = now - task.createdAt
  if (age < task.waitMs) return 'waiting'
  if (age < task.waitMs + task.queueMs) return 'queuing'
  const end = endOf(task)
  if (end === null || now < end) return 'generating'
  return 'fail' in task.behaviours || 'nsfw' in task.behaviours ? 'fail' : 'success'
}

/** Per cent of the generating phase, rising fast at first and slowly at the end, as real ones do. */
export function progressAt(task: SimulatedTask, now: number): number {
  const phase = phaseAt(task, now)
  if (phase === 'waiting' || phase === 'queuing') return 0
  if (phase !== 'generating') return 100
  const done = (now - task.createdAt - task.waitMs - task.queueMs) / (task.workMs ?? 600_000)
  return Math.min(99, Math.floor(100 * Math.sin((Math.min(done, 1) * Math.PI) / 2) ** 1.2))
}
