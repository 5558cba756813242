import type { TrackedTask } from '@holdfast/client'

/** Where a task was started, as seen from this tab. */
export const ORIGIN_TEXT: Record<TrackedTask['origin'], string> = {
  'this-tab': 'started in this tab',
  'other-tab': 'started in another tab',
  'other-device': 'started on another device',
}
