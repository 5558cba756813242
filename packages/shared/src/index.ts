export type { Conversation, ConversationList, Message } from './conversation.ts'
export type { CreditAuditEntry, CreditEntry, CreditKind, Credits } from './credits.ts'
export { isOverdue } from './deadline.ts'
export { FAILURE_CODES, type FailureCode } from './failure-codes.ts'
export { isNewer, type TaskState } from './newer-task.ts'
export { placeholderIdOf } from './placeholder-id.ts'
export { PROBLEMS, type Problem, type ProblemCode } from './problem.ts'
export {
  type ActiveStatus,
  isTerminal,
  TASK_STATUSES,
  type TaskStatus,
  type TerminalStatus,
  TRANSITIONS,
  type TransitionRule,
} from './status.ts'
export {
  nameChange,
  nameStatus,
  type StreamEnd,
  type StreamEvents,
  type SyncAnswer,
  type TaskChange,
} from './stream.ts'
export {
  LANES,
  type Lane,
  type OutputState,
  PRIORITIES,
  type Priority,
  type SaveState,
  type Task,
  type TaskFailure,
  type TaskOutput,
} from './task.ts'
export type {
  AnyTaskOf,
  AnyTasks,
  FilesResult,
  Shaped,
  TaskCatalog,
  TaskInput,
  TaskOf,
  TaskShape,
  TaskTypeName,
  TaskTypesOf,
} from './task-catalog.ts'
