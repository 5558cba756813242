export type {
  Conversation,
  FailureCode,
  Message,
  ProblemCode,
  Task,
  TaskChange,
  TaskFailure,
  TaskOutput,
  TaskStatus,
} from '@holdfast/shared'
export type { User } from './accounts/session.ts'
export {
  type ClientEvents,
  type ClientOptions,
  createClient,
  type HoldfastClient,
  type SubmitInput,
} from './create-client.ts'
export type { Clock } from './environment/clock.ts'
export type { Environment } from './environment/environment.ts'
export { HoldfastError } from './holdfast-error.ts'
export type { Origin } from './placeholders/origin.ts'
export { type Placeholder, toPlaceholder, toPlaceholders } from './placeholders/placeholder.ts'
export type { TrackedTask } from './store/merge-tasks.ts'
export type { ClientState, ReadonlyStore } from './store/task-store.ts'
export type { ChannelPort } from './tabs/tab-channel.ts'
export type { Conversations } from './transport/conversations.ts'
