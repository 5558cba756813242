import { createHmac } from 'node:crypto'

/** KIE signs the task id and the time, in seconds; never the body. */
export function signCallback(key: string, taskId: string, timestamp: number): string {
  return createHmac('sha256', key).update(`${taskId}.${timestamp}`).digest('base64')
}
