/** Before the awaited thing is asked for, a few turns of the event loop after that, or when its answer is there. */
export const MOMENTS = ['before', 'during', 'after'] as const
export type Moment = (typeof MOMENTS)[number]

export interface Kill {
  point: string
  moment: Moment
  /** The how-manieth time the point is passed, from 1. */
  hit: number
}

/** What `preload.ts` is to do in a server process. */
export interface Orders {
  /** A JSON file of instrumented sources by file URL. */
  sourcesFile: string
  /** Points count from the first one that begins with this: an idle engine passes some all the time. */
  armAt: string
  /** Where every point passed is noted, a line each. */
  recordFile?: string
  kill?: Kill
}

/** With which the application's own backend speaks for a user. */
export const SERVICE_KEY = 'only-for-the-backend-of-a-crashing-application'

/** Whoever comes with it may see and mend what is everyone's. */
export const ADMIN = 'the-administrator'

/** With which KIE signs what it calls back with. */
export const HMAC_KEY = 'crash-hmac-key'

/**
 * Where replicas have their lock, their bus and their progress: in PostgreSQL, all but the progress, or in Redis. A
 * server that runs by itself needs neither.
 */
export type Shared = 'postgres' | 'redis'

/** The one argument of `server-process.ts`, as JSON. */
export interface ServerProcessSettings {
  databaseUrl: string
  kieUrl: string
  /** Where result files are copied to; they are not without it. */
  storeFolder?: string | undefined
  /** An endpoint of the application's own that is told what happens. */
  tellUrl?: string | undefined
  /** A type of task that it no longer offers. */
  withdrawn?: string | undefined
  oddity?: Oddity | undefined
  shared?: Shared | undefined
  redisUrl?: string | undefined
  orders?: Orders
}

/**
 * What is not as it should be around a server.
 *
 * - `refuses-cancels`: the provider takes none.
 * - `plugin-throws`: a plugin of the application's own does, at every end of a task.
 * - `plugin-remembers`: the same one does not, and writes the task down in a table of its own.
 * - `provider-away`: nobody listens where the provider should be, until a create was tried in vain.
 * - `finds-late`: replies to creates are lost, and the provider can be asked what it has accepted; the first time in vain.
 * - `marks-late`: PostgreSQL takes longer to mark a create than it may be sent after that. Claims last longer, for that.
 * - `database-late`: PostgreSQL is away when a server starts, until it has noticed.
 * - `database-cut`: PostgreSQL goes away while the answer to a create is being written, until the server has noticed.
 */
export type Oddity =
  | 'refuses-cancels'
  | 'plugin-throws'
  | 'plugin-remembers'
  | 'provider-away'
  | 'finds-late'
  | 'marks-late'
  | 'database-late'
  | 'database-cut'
