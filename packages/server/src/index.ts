import './require-node.ts'

export type { TaskTypesOf } from '@holdfast/shared'
export type { AlertForm, AlertWebhook } from './alerts/post-alert.ts'
export type { Authenticate, Identity } from './auth/authenticate.ts'
export { createJwtAuthenticate, type JwtAuthOptions } from './auth/jwt-authenticate.ts'
export type { Bus, Hint, Reach } from './bus/bus.ts'
export { postgresChannel } from './bus/postgres-channel.ts'
export { redisChannel } from './bus/redis-channel.ts'
export { createReplicatedBus } from './bus/replicated-bus.ts'
export { createHoldfast, type Holdfast, type HoldfastConfig } from './create-holdfast.ts'
export { HoldfastError } from './errors.ts'
export type { HotStore, ProgressReport } from './hot/hot-store.ts'
export { createRedisHot } from './hot/redis-hot.ts'
export { createAdvisoryLock } from './locks/advisory-lock.ts'
export { assertSessionPooling } from './locks/assert-session-pooling.ts'
export type { Held, Lock } from './locks/lock.ts'
export { createNoLock } from './locks/no-lock.ts'
export { createRedisLock } from './locks/redis-lock.ts'
export { createLog } from './log.ts'
export { createFilesystemStore, type FilesystemStoreOptions } from './objects/filesystem-store.ts'
export type { ObjectSettings } from './objects/object-settings.ts'
export type { ObjectStore, PutOptions, StoredObject } from './objects/object-store.ts'
export { ObjectStoreError } from './objects/object-store-error.ts'
export { type OpenObjectStoreOptions, openObjectStore } from './objects/open-object-store.ts'
export type { PluginSettings } from './plugins/assemble-plugins.ts'
export type { Credits } from './plugins/credits/credits.ts'
export type { CreditsOptions } from './plugins/credits/credits-options.ts'
export type {
  CreateFate,
  Plugin,
  SettledOutput,
  SettledTask,
  Submission,
  SubmittedTask,
} from './plugins/plugin.ts'
export { defineProvider, type ProviderDefinition } from './providers/define-provider.ts'
export { createFal, type FalOptions } from './providers/fal/fal.ts'
export type { ApiReply, ApiRequest } from './providers/http-api/api-request.ts'
export { createHttpApi } from './providers/http-api/http-api.ts'
export type { DeadFile, HttpApiOptions, Refusal } from './providers/http-api/http-api-options.ts'
export type { ApiError } from './providers/http-api/read-error.ts'
export type { CreateReading, OutputReading, QueryReading } from './providers/http-api/readings.ts'
export { createKie, type KieOptions } from './providers/kie/kie.ts'
export {
  createLumaAgents,
  type LumaAgentsKind,
  type LumaAgentsOptions,
} from './providers/luma-agents/luma-agents.ts'
export {
  createLumaDreamMachine,
  type LumaDreamMachineOptions,
} from './providers/luma-dream-machine/luma-dream-machine.ts'
export { createOpenAiVideos, type OpenAiVideosOptions } from './providers/openai-videos/openai-videos.ts'
export type {
  CreateOutcome,
  CreateRequest,
  FindOutcome,
  OperationLimit,
  Provider,
  ProviderLimits,
  ProviderOutput,
  QueryOutcome,
  RefreshOutcome,
  Usage,
  WebhookCall,
  WebhookReading,
} from './providers/provider.ts'
export { createReplicate, type ReplicateOptions } from './providers/replicate/replicate.ts'
export type { RunwayRoute } from './providers/runway/request-of.ts'
export { createRunway, type RunwayOptions } from './providers/runway/runway.ts'
export type { RouteTask, StreamOptions } from './routes/app-context.ts'
export type { ChoosePriority, PriorityByPlan } from './tasks/choose-priority.ts'
export {
  type DefinedTaskType,
  defineTaskType,
  type TaskTypeDefinition,
} from './tasks/define-task-type.ts'
export {
  type CancelPolicy,
  defaultTaskTypes,
  type Price,
  type TaskType,
  type TaskTypes,
} from './tasks/task-types.ts'
export type { MirrorOptions } from './work/copy/copy-options.ts'
export type { EngineOptions } from './work/workers.ts'
