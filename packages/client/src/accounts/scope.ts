/** What belongs together: one app, in one of its deployments, for one user. Nothing is shared across. */
export interface Scope {
  /** Also names the database. */
  app: string
  user: string
}

export const appScope = (app: string, deployment: string | undefined) =>
  `holdfast:${encodeURIComponent(app)}${deployment ? `@${encodeURIComponent(deployment)}` : ''}`

export function scopeOf(app: string, deployment: string | undefined, userId: string): Scope {
  const name = appScope(app, deployment)
  return { app: name, user: `${name}:${encodeURIComponent(userId)}` }
}

/** Where a user's records are kept. */
export const copyKey = (user: string) => `${user}:tasks`
export const outboxKey = (user: string) => `${user}:outbox`
export const inboxKey = (user: string) => `${user}:inbox`
