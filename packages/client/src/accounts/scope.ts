/** What belongs together: one app, in one of its deployments, for one user. Nothing is shared across. */
export interface Scope {
  /** Also names the database. */
  app: string
  user: string
}

export function scopeOf(app: string, deployment: string | undefined, userId: string): Scope {
  const name = `holdfast:${encodeURIComponent(app)}${deployment ? `@${encodeURIComponent(deployment)}` : ''}`
  return { app: name, user: `${name}:${encodeURIComponent(userId)}` }
}
