import { ASK_SCENARIOS } from './ask-scenarios.ts'
import { LATE_SCENARIOS } from './late-scenarios.ts'
import { ODD_SCENARIOS } from './odd-scenarios.ts'
import type { Scenario, WishScenario } from './scenario.ts'
import { SHARED_SCENARIOS } from './shared-scenarios.ts'
import { STOP_SCENARIOS } from './stop-scenarios.ts'
import { SWEEP_SCENARIOS } from './sweep-scenarios.ts'

const SUBMITTING = [
  'work/send/run-send.ts',
  'database/until-written.ts',
  'work/send/unmark-sending.ts',
  'tasks/settle-task.ts',
  'tasks/create-settle.ts',
  'database/',
  'providers/',
]
const POLLING = [
  'work/poll/run-poll.ts',
  'tasks/settle-task.ts',
  'tasks/create-settle.ts',
  'plugins/',
  'database/',
  'providers/',
]

/** What a cancelled task waits for: the reply to its create. */
const CONCLUDING = [
  'work/send/run-send.ts',
  'work/send/conclude-create.ts',
  'work/send/unmark-sending.ts',
  'tasks/aftermath.ts',
  'plugins/credits/',
]

const COPYING = ['work/copy/', 'engine/run-work.ts', 'artifacts/', 'objects/']

/** What `npm run proof -- crash` goes through. */
export const SCENARIOS: readonly Scenario[] = [
  {
    name: 'completes',
    type: 'image',
    prompt: 'a lighthouse in a storm',
    // From the request on that submits it.
    armAt: 'routes/tasks.ts',
    ends: { status: 'completed', code: null },
    maxSends: 1,
  },
  {
    name: 'told to wait',
    type: 'image',
    prompt: 'a lighthouse [busy-seconds] [fast]',
    armAt: 'providers/kie/kie.ts',
    around: SUBMITTING,
    ends: { status: 'completed', code: null },
    maxSends: 2,
  },
  {
    name: 'refused',
    type: 'image',
    prompt: 'a lighthouse [refuse]',
    armAt: 'providers/kie/kie.ts',
    around: SUBMITTING,
    ends: { status: 'failed', code: 'SUBMIT_REFUSED' },
    maxSends: 1,
  },
  {
    name: 'reply lost',
    type: 'image',
    prompt: 'a lighthouse [lost]',
    armAt: 'providers/kie/kie.ts',
    around: SUBMITTING,
    ends: { status: 'failed', code: 'SUBMIT_UNKNOWN' },
    maxSends: 1,
  },
  {
    name: 'found as lost',
    type: 'image',
    prompt: 'a lighthouse',
    armAt: '',
    around: [...SUBMITTING, 'work/workers.ts', 'work/poll/hasten-polls.ts'],
    ends: { status: 'failed', code: 'SUBMIT_UNKNOWN' },
    maxSends: 0,
    legacy: 'lost-create',
  },
  {
    name: 'fails there',
    type: 'image',
    prompt: 'a lighthouse [fail] [fast]',
    armAt: 'work/poll/run-poll.ts',
    around: POLLING,
    ends: { status: 'failed', code: 'PROVIDER_FAILED' },
    maxSends: 1,
  },
  {
    name: 'vanishes there',
    type: 'image',
    prompt: 'a lighthouse [vanish]',
    armAt: 'work/poll/run-poll.ts',
    around: POLLING,
    ends: { status: 'failed', code: 'TASK_NOT_FOUND' },
    maxSends: 1,
  },
  {
    name: 'is cancelled',
    type: 'image',
    prompt: 'a lighthouse [stuck]',
    armAt: 'tasks/cancel-task.ts',
    around: [
      'tasks/cancel-task.ts',
      'tasks/settle-task.ts',
      'tasks/create-settle.ts',
      'plugins/',
      'work/cancel/run-cancel.ts',
      'database/',
    ],
    ends: { status: 'cancelled', code: null },
    maxSends: 1,
    cancel: 'running',
  },
  {
    name: 'asked to cancel',
    type: 'image',
    prompt: 'a lighthouse [stuck]',
    armAt: 'routes/tasks.ts',
    around: ['routes/tasks.ts'],
    ends: { status: 'cancelled', code: null },
    maxSends: 1,
    cancel: 'running',
  },
  {
    name: 'cancelled on the way',
    type: 'image',
    prompt: 'a lighthouse [stuck]',
    armAt: 'tasks/cancel-task.ts',
    around: [
      'tasks/cancel-task.ts',
      'tasks/settle-task.ts',
      'tasks/create-settle.ts',
      'work/send/accept-task.ts',
      'tasks/aftermath.ts',
      'plugins/credits/',
      'work/send/run-send.ts',
      'work/cancel/run-cancel.ts',
      'database/',
    ],
    ends: { status: 'cancelled', code: null },
    maxSends: 1,
    cancel: 'sending',
  },
  {
    name: 'cancelled, then refused',
    type: 'image',
    prompt: 'a lighthouse [refuse]',
    armAt: 'tasks/cancel-task.ts',
    around: CONCLUDING,
    ends: { status: 'cancelled', code: null },
    maxSends: 1,
    cancel: 'sending',
  },
  {
    name: 'cancelled, then told to wait',
    type: 'image',
    prompt: 'a lighthouse [busy-seconds] [fast]',
    armAt: 'tasks/cancel-task.ts',
    around: CONCLUDING,
    ends: { status: 'cancelled', code: null },
    maxSends: 1,
    cancel: 'sending',
  },
  {
    name: 'cancelled, then lost',
    type: 'image',
    // Not cut off, which could not be held back until the cancel.
    prompt: 'a lighthouse [html-create]',
    armAt: 'tasks/cancel-task.ts',
    around: CONCLUDING,
    ends: { status: 'cancelled', code: null },
    maxSends: 1,
    cancel: 'sending',
  },
  {
    name: 'cancelled, then found again',
    type: 'image',
    prompt: 'a lighthouse [stuck]',
    armAt: 'tasks/cancel-task.ts',
    around: [...CONCLUDING, 'work/send/reconcile-send.ts', 'work/send/accept-task.ts'],
    ends: { status: 'cancelled', code: null },
    maxSends: 1,
    cancel: 'sending',
    oddity: 'finds-late',
  },
  {
    name: 'is copied',
    type: 'image',
    prompt: 'a lighthouse [fast]',
    // From the success of the provider on: the first of it is that the end and the file are written down.
    armAt: 'tasks/settle-together.ts',
    around: COPYING,
    ends: { status: 'completed', code: null },
    maxSends: 1,
    mirror: true,
  },
  {
    name: 'copied by a new link',
    type: 'image',
    prompt: 'a lighthouse [fast] [dead-links]',
    armAt: 'tasks/settle-together.ts',
    around: ['work/copy/run-copy.ts', 'work/copy/copy-writes.ts', 'providers/kie/kie.ts'],
    ends: { status: 'completed', code: null },
    maxSends: 1,
    mirror: true,
  },
  {
    name: 'asked twice',
    type: 'image',
    prompt: 'a lighthouse [fast]',
    armAt: 'tasks/create-task.ts',
    around: ['tasks/create-task.ts', 'tasks/idempotency-key.ts', 'plugins/'],
    ends: { status: 'completed', code: null },
    maxSends: 1,
    twice: true,
  },
  {
    name: 'attempts spent',
    type: 'image',
    prompt: 'a lighthouse [code:500]',
    armAt: 'work/send/run-send.ts',
    around: ['work/send/run-send.ts', 'dead-letters/'],
    ends: { status: 'failed', code: 'SUBMIT_REFUSED' },
    // Refused ones were certainly not accepted, so they may be sent again.
    maxSends: 3,
    letter: 'send',
  },
  ...SWEEP_SCENARIOS,
  ...ODD_SCENARIOS,
  ...LATE_SCENARIOS,
  ...STOP_SCENARIOS,
  ...SHARED_SCENARIOS,
  ...ASK_SCENARIOS,
]

/** The create has arrived and its reply is on the way: what no kill point hits for certain. */
export const REPLY_UNDER_WAY: WishScenario = {
  name: 'reply under way',
  type: 'image',
  prompt: 'a lighthouse [hang]',
  armAt: '',
  ends: { status: 'failed', code: 'SUBMIT_UNKNOWN' },
  maxSends: 1,
}
