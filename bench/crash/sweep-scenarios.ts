import type { Scenario } from './scenario.ts'

const ENDING = ['tasks/settle-task.ts', 'tasks/create-settle.ts', 'plugins/', 'database/transaction.ts']

/** What no single step of a task can see, and the sweeps do. */
export const SWEEP_SCENARIOS: readonly Scenario[] = [
  {
    name: 'past its deadline',
    type: 'hurried',
    prompt: 'a lighthouse [stuck]',
    armAt: 'work/poll/run-poll.ts',
    around: ['work/poll/run-poll.ts', ...ENDING, 'providers/', 'work/poll/sweep-overdue.ts'],
    ends: { status: 'failed', code: 'DEADLINE_EXCEEDED' },
    maxSends: 1,
  },
  {
    name: 'waits too long',
    type: 'impatient',
    prompt: 'a lighthouse [busy:99]',
    armAt: 'tasks/create-task.ts',
    around: ['sweeps/', 'work/send/sweep-waiting.ts', 'dead-letters/', ...ENDING],
    ends: { status: 'failed', code: 'WAIT_EXCEEDED' },
    // Turned away each time, so it may be sent again.
    maxSends: 99,
    letter: 'send',
  },
  {
    name: 'falls silent',
    type: 'image',
    prompt: 'a lighthouse [stuck] [500:9999]',
    armAt: '',
    around: ['work/poll/sweep-silent.ts', 'sweeps/sparing-others.ts', 'sweeps/run-sweeps.ts', ...ENDING],
    ends: { status: 'failed', code: 'SILENT_TOO_LONG' },
    maxSends: 1,
    legacy: 'silent',
  },
  {
    name: 'unheard for a day',
    type: 'image',
    prompt: 'a lighthouse [stuck] [500:9999]',
    armAt: '',
    around: ['work/poll/sweep-overdue.ts', 'sweeps/sparing-others.ts', ...ENDING],
    ends: { status: 'failed', code: 'DEADLINE_EXCEEDED' },
    maxSends: 1,
    legacy: 'unheard-for-a-day',
  },
  {
    name: 'things of all ages',
    armAt: '',
    around: [
      'sweeps/run-sweeps.ts',
      'sweeps/sweep-used-up.ts',
      'sweeps/sweep-expired-files.ts',
      'sweeps/sweep-old-rows.ts',
      'objects/filesystem-store.ts',
    ],
    tidy: true,
  },
]
