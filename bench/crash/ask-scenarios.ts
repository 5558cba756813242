import type { AskScenario, Asks } from './scenario.ts'

const CREATING = ['routes/tasks.ts', 'tasks/create-task.ts', 'tasks/idempotency-key.ts']

const ask = (name: string, asks: Asks, around: readonly string[], more: Partial<AskScenario> = {}) => ({
  name,
  asks,
  // From its start, since the request is the first that it has.
  armAt: '',
  around,
  ...more,
})

/** What users, administrators and vendors ask for: done once and as a whole, or not at all until it is asked again. */
export const ASK_SCENARIOS: readonly AskScenario[] = [
  ask('conversation made', 'make-conversation', [
    'plugins/conversations/',
    'routes/conversations.ts',
    'routes/read-input.ts',
    'routes/require-user.ts',
    'routes/trace.ts',
  ]),
  ask('conversation read', 'read-conversation', ['plugins/conversations/', 'routes/conversations.ts']),
  ask('retried', 'retry', [...CREATING, 'tasks/retry-task.ts', 'tasks/find-task.ts', 'plugins/']),
  ask('adopted again', 'adopt-again', [...CREATING, 'tasks/adoption.ts', 'routes/require-user.ts']),
  ask('dead letter retried', 'retry-letter', [
    'dead-letters/',
    'routes/admin.ts',
    'tasks/retry-task.ts',
    'tasks/create-task.ts',
  ]),
  ask('dead letter discarded', 'discard-letter', ['dead-letters/', 'routes/admin.ts']),
  ask(
    'told once more',
    'redeliver',
    ['dead-letters/', 'routes/admin.ts', 'work/deliver/run-delivery.ts', 'work/deliver/'],
    { told: 'never' },
  ),
  ask('saved later', 'save', ['tasks/save-task.ts', 'plugins/join-finish.ts', 'routes/tasks.ts'], {
    oddity: 'plugin-throws',
  }),
  ask('credits granted', 'grant', ['plugins/credits/', 'routes/admin-credits.ts']),
  ask('credits given back', 'give-back', ['plugins/credits/', 'routes/admin-credits.ts']),
  ask('credits seen first', 'first-balance', ['plugins/credits/', 'routes/credits.ts']),
  ask('called back', 'call-back', ['webhooks/', 'routes/', 'work/poll/run-poll.ts', 'providers/kie/kie.ts']),
  ask('called back for the account', 'call-back-account', ['webhooks/', 'routes/webhooks.ts']),
  ask('called back early', 'call-back-early', [
    'webhooks/',
    'work/send/reconcile-send.ts',
    'work/send/accept-task.ts',
  ]),
  ask('called back too late', 'call-back-late', ['webhooks/', 'work/send/accept-task.ts']),
]
