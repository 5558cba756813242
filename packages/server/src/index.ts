export type { AlertForm, AlertWebhook } from './alerts/post-alert.ts'
export type { MirrorOptions } from './artifacts/mirror-options.ts'
export type { Authenticate, Identity } from './auth/authenticate.ts'
export { createJwtAuthenticate, type JwtAuthOptions } from './auth/jwt-authenticate.ts'
export type { Bus, Hint, Reach } from './bus/bus.ts'
export { postgresChannel } from './bus/postgres-channel.ts'
export { redisChannel } from './bus/redis-channel.ts'
export { createReplicatedBus } from './bus/replicated-bus.ts'
export { createHoldfast, type Holdfast, type HoldfastConfig } from './create-holdfast.ts'
export type { EngineOptions } from './engine/engine.ts'
export { HoldfastError } from './errors.ts'
export type { HotStore, ProgressReport } from './hot/hot-store.ts'
export { createRedisHot } from './hot/redis-hot.ts'
export { createAdvisoryLock } from './locks/advisory-lock.ts'
export { assertSessionPooling } from './locks/assert-session-pooling.ts'
export type { Held, Lock } from './locks/lock.ts'
export { createNoLock } from './locks/no-lock.ts'
export { createRedisLock } from './locks/redis-lock.ts'
export { createLog } from './log.ts'
export type { PluginSettings } from './plugins/assemble-plugins.ts'
export type { Credits } from './plugins/credits/credits.ts'
export type { CreditsOptions } from './plugins/credits/credits-options.ts'
export type { Plugin, SettledOutput, SettledTask, Submission, SubmittedTask } from './plugins/plugin.ts'
export { createKie, type KieOptions } from './providers/kie/kie.ts'
export type {
  CreateOutcome,
  CreateRequest,
  OperationLimit,
  Provider,
  ProviderLimits,
  ProviderOutput,
  QueryOutcome,
} from './providers/provider.ts'
export type { RouteTask, StreamOptions } from './routes/app-context.ts'
export {
  type CancelPolicy,
  defaultTaskTypes,
  type Price,
  type TaskType,
  type TaskTypes,
} from './tasks/task-types.ts'
