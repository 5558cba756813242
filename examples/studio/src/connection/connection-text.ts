import type { ClientState } from '@holdfast/client'

interface Text {
  label: string
  about: string
}

export const CONNECTION_TEXT: Record<ClientState['connection'], Text> = {
  push: { label: 'Live', about: 'The server pushes every change over one open stream.' },
  polling: {
    label: 'Polling',
    about: 'The stream does not get through, so this tab asks every few seconds.',
  },
  follower: { label: 'Via the leader', about: 'The leading tab receives and passes every change on.' },
  offline: { label: 'Out of reach', about: 'No server for now. The local copy is shown; we keep trying.' },
}

export const ROLE_TEXT: Record<ClientState['role'], Text> = {
  leader: { label: 'Leader', about: 'Holds this browser’s one connection and tells the other tabs.' },
  follower: { label: 'Follower', about: 'Another tab leads. If it closes, one like this takes over.' },
}

export const STORAGE_TEXT: Record<ClientState['storage'], Text> = {
  durable: { label: 'Durable', about: 'Tasks are kept in this browser and painted at once after a reload.' },
  memory: { label: 'Memory only', about: 'This browser keeps nothing; after a reload the server tells us.' },
}
