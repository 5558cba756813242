import type { ClientState } from '../../store/task-store.ts'

export type Tone = 'good' | 'calm' | 'warn' | 'bad'

interface Text {
  label: string
  about: string
  tone: Tone
}

export const CONNECTION_TEXT: Record<ClientState['connection'], Text> = {
  push: { label: 'Live', about: 'The server pushes news as it happens.', tone: 'good' },
  polling: { label: 'Polling', about: 'It asks the server now and then; push is tried again.', tone: 'warn' },
  follower: { label: 'Via leader', about: 'News comes through the leading tab.', tone: 'calm' },
  offline: {
    label: 'Offline',
    about: 'Nothing reaches the server; it is tried again by itself.',
    tone: 'bad',
  },
}

export const RESTORE_TEXT: Record<ClientState['restore'], string> = {
  'signed-out': 'Signed out',
  loading: 'Loading',
  'from-cache': 'From the local copy',
  confirmed: 'Confirmed by the server',
}

export const PROBLEM_TEXT: Record<NonNullable<ClientState['storageProblem']>, string> = {
  missing: 'There is no IndexedDB here.',
  blocked: 'The browser forbids IndexedDB here.',
  full: 'The disk, or this origin’s share of it, is full.',
  broken: 'IndexedDB fails or does not answer.',
  corrupt: 'What was found could not be read, and was discarded.',
}

export const TONE_OF_STATUS: Record<string, Tone | undefined> = {
  completed: 'good',
  failed: 'bad',
  cancelled: 'warn',
}
