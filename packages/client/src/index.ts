export type {
  Conversation,
  ConversationList,
  Credits,
  FailureCode,
  Message,
  ProblemCode,
  Task,
  TaskChange,
  TaskFailure,
  TaskOutput,
  TaskStatus,
} from '@holdfast/shared'
export type { ClientEvents } from './accounts/client-events.ts'
export type { User } from './accounts/session.ts'
export type { StorageProblem } from './cache/kept.ts'
export {
  type ClientOptions,
  createClient,
  type HoldfastClient,
  type Insight,
  type Submission,
  type SubmitInput,
} from './create-client.ts'
export type { Clock } from './environment/clock.ts'
export { browserEnvironment, type Environment } from './environment/environment.ts'
export { HoldfastError } from './holdfast-error.ts'
export type { SettleHandler } from './inbox/inbox.ts'
export type { Waiting } from './outbox/intent.ts'
export { mergeThread, type ThreadEntry, type ThreadOptions } from './placeholders/merge-thread.ts'
export type { Origin } from './placeholders/origin.ts'
export {
  type Placeholder,
  type PlaceholderDetail,
  toPlaceholder,
  toPlaceholders,
} from './placeholders/placeholder.ts'
export type { TrackedTask } from './store/merge-tasks.ts'
export type { ClientState, ReadonlyStore } from './store/task-store.ts'
export type { ChannelPort } from './tabs/tab-channel.ts'
export { type Conversations, createConversations } from './transport/conversations.ts'
export { readCredits } from './transport/credits.ts'
export { createHoldfastTransport } from './transport/holdfast-transport.ts'
export type { Http } from './transport/http.ts'
export { type ListedStatus, type ListQuery, listTasks } from './transport/list-tasks.ts'
export {
  createPollingEndpointTransport,
  type EndpointTask,
  type PollingEndpointOptions,
} from './transport/polling-endpoint-transport.ts'
export type {
  CreateTransport,
  StreamNews,
  StreamOptions,
  StreamOutcome,
  SubmitBody,
  SyncQuestion,
  Transport,
  TransportLink,
} from './transport/transport.ts'
