import type { Task } from '@holdfast/shared'
import { until } from '../crash/until.ts'
import type { Answer, MoneyLab, Vendors, Visitor } from './money-lab.ts'

/** One way in which somebody might get work for nothing. */
export interface Attempt {
  name: string
  /** Creates whose reply is lost in it, by no fault of the user: nobody can be charged for them. @default 0 */
  loses?: number
  /** Whether vendors are given an address to call back at, by which a create whose reply was lost can be found. @default false */
  calledBack?: boolean
  run(scene: Scene): Promise<void>
}

/** What an attempt is played with. */
export interface Scene {
  lab: MoneyLab
  vendors: Vendors
  /** Who tries it. */
  user: Visitor
  /** The task of an answer, which must have been a success. */
  made(answer: Answer): Task
  /** An answer that must have been this refusal. */
  refused(answer: Answer, status: number): void
  /** Until so many creates have reached a vendor in this attempt. */
  creates(vendor: keyof Vendors, count: number): Promise<void>
  /** Until a task is so. Polls, which would come in half a minute, are made at once. */
  status(task: Task, ...statuses: Task['status'][]): Promise<void>
}

const WITHIN = { withinMs: 20_000 }

export function openScene(lab: MoneyLab): Scene {
  const user = lab.visitor()
  const { vendors } = lab
  const before = {
    kie: vendors.kie.creates.length,
    replicate: vendors.replicate.creates.length,
    luma: vendors.luma.creates.length,
  }
  return {
    lab,
    vendors,
    user,
    made(answer) {
      if (!answer.task || answer.status >= 300) {
        throw new Error(`answered with ${answer.status} ${JSON.stringify(answer.body)}`)
      }
      return answer.task
    },
    refused(answer, status) {
      if (answer.status !== status) {
        throw new Error(`answered with ${answer.status} instead of ${status}: ${JSON.stringify(answer.body)}`)
      }
    },
    async creates(vendor, count) {
      const arrived = async () => vendors[vendor].creates.length - before[vendor] >= count
      await until(`${count} creates at ${vendor}`, arrived, { ...WITHIN, everyMs: 2 })
    },
    async status(task, ...statuses) {
      const is = async () => {
        await hurryPolls(lab)
        const [row] = await lab.sql<{ status: Task['status'] }[]>`
          select status from holdfast.tasks where id = ${task.id}
        `
        return row !== undefined && statuses.includes(row.status)
      }
      await until(`a task that is ${statuses.join(' or ')}`, is, WITHIN)
    },
  }
}

/** Polls of what nobody watches come in half a minute, which nobody needs to wait for. */
export async function hurryPolls({ sql }: MoneyLab): Promise<void> {
  await sql`update holdfast.work set due_at = now() where kind = 'poll' and due_at > now() + interval '500 ms'`
}
