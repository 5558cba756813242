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
export type { Clock } from './clock.ts'
export type { Conversations } from './conversations.ts'
export {
  type ClientEvents,
  type ClientOptions,
  createClient,
  type HoldfastClient,
  type SubmitInput,
} from './create-client.ts'
export type { Environment } from './environment.ts'
export { HoldfastError } from './holdfast-error.ts'
export type { TrackedTask } from './merge-tasks.ts'
export type { Origin } from './origin.ts'
export { type Placeholder, toPlaceholder, toPlaceholders } from './placeholder.ts'
export type { User } from './session.ts'
export type { ChannelPort } from './tab-channel.ts'
export type { ClientState, ReadonlyStore } from './task-store.ts'
