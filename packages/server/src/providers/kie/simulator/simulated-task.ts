import { randomBytes } from 'node:crypto'
import {
  planTask as planAny,
  type Script,
  type SimulatedTask,
  stateAt,
  type TaskPlan,
} from '../../simulation/simulated-task.ts'

export type Phase = 'waiting' | 'queuing' | 'generating' | 'success' | 'fail'

const PHASES = {
  queued: 'queuing',
  working: 'generating',
  succeeded: 'success',
  failed: 'fail',
  // KIE cannot cancel; only a script makes a task end so.
  cancelled: 'fail',
} as const

export function creditsFor(task: SimulatedTask): number {
  return (task.makesVideo ? 30 : 4) * task.outputs
}

export function planTask(plan: Omit<TaskPlan, 'taskId'> & { script?: Script }): SimulatedTask {
  const name = plan.model.toLowerCase().replace(/[^a-z0-9]+/g, '-')
  const taskId = `task_${name}_${Math.floor(plan.createdAt)}${randomBytes(4).toString('hex')}`
  const task = planAny({ ...plan, taskId })
  // KIE tells two kinds of waiting apart.
  const [queued] = task.steps
  if (queued && !plan.script?.steps) {
    const first = { ...queued, says: 'waiting', forMs: queued.forMs * 0.4 }
    task.steps.splice(0, 1, first, { ...queued, forMs: queued.forMs * 0.6 })
  }
  return task
}

/** The state as KIE calls it, or as a script wants it called. */
export function wordAt(task: SimulatedTask, now: number): string {
  const { phase, says } = stateAt(task, now)
  return says ?? PHASES[phase]
}

export function phaseAt(task: SimulatedTask, now: number): Phase {
  return PHASES[stateAt(task, now).phase]
}
