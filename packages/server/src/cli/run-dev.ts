import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import type { RequestListener, Server } from 'node:http'
import { join } from 'node:path'
import type { Logger } from 'pino'
import { createDevLogin } from '../auth/dev-login.ts'
import type { Config } from '../config.ts'
import { createHoldfast, type Holdfast } from '../create-holdfast.ts'
import type { CreditSettings } from '../credit-settings.ts'
import { connect } from '../database/connect.ts'
import { errorCode } from '../database/database-errors.ts'
import { rollback } from '../database/migrate.ts'
import type { ObjectStore } from '../objects/object-store.ts'
import { openObjectStore } from '../objects/open-object-store.ts'
import { createKie } from '../providers/kie/kie.ts'
import { addDevLogin } from '../routes/dev-login.ts'
import { addStudio } from '../routes/studio.ts'
import { readVersion } from '../version.ts'
import { checkStore } from './check-store.ts'
import { limitOptions } from './limit-options.ts'
import { closeServer, listen } from './listen.ts'
import { mirrorOptions } from './mirror-options.ts'
import { openBus } from './open-bus.ts'
import { openHot } from './open-hot.ts'
import { openLock } from './open-lock.ts'
import { openLog } from './open-log.ts'
import { type OpenProviders, openProviders } from './open-providers.ts'
import { priceTypes } from './price-types.ts'
import { studioDirectory } from './studio-directory.ts'
import { untilToldToStop } from './until-told-to-stop.ts'

const SIMULATOR_KEY = 'simulated-key'

/** Enough to play with, and few enough that spending shows. */
const DEMO_CREDITS = { initial: 1_000, prices: { image: 4, video: 20 } }

/** Here things have prices without any setting; either half can be set. */
export function demoCredits(given: CreditSettings | null): CreditSettings {
  return given ? { ...given, prices: given.prices ?? DEMO_CREDITS.prices } : DEMO_CREDITS
}

/** Everything on one machine, put up in the order in which the parts need each other and taken down in reverse. */
export async function runDev(config: Config, options: { fresh: boolean; speed: number }): Promise<void> {
  if (config.production)
    throw new Error('"holdfast dev" is not for production (NODE_ENV=production). Use "holdfast serve".')
  const say = (line: string) => console.info(line)
  const undo: (() => Promise<void>)[] = []
  const told = untilToldToStop()

  try {
    // The port first: if another Holdfast has it, nothing of its data is touched.
    const front = await openFront(config)
    undo.push(() => closeServer(front.server))
    await openDataDir(config.dataDir)

    const database = await openDatabase(config, options.fresh, say)
    undo.push(database.stop)
    // A direct way to another database is none to the embedded one.
    const reached = {
      ...config,
      databaseUrl: database.url,
      directUrl: config.databaseUrl === null ? null : config.directUrl,
    }
    const log = openLog(config, { level: 'warn', format: 'pretty' })
    const simulated = config.providers.vendors.kie.apiKey ? null : await simulateKie(config, options)
    if (simulated) undo.push(simulated.stop)
    const open = openProviders(config.providers, {
      log,
      ...(simulated ? { simulated: simulated.provider } : {}),
    })

    const devLogin = config.databaseUrl === null ? createDevLogin(await readSecret(config.dataDir)) : null
    const auth = devLogin?.authenticate ?? config.auth
    if (!auth) {
      throw new Error(
        'With DATABASE_URL, tokens must be checked: set SUPABASE_URL, SUPABASE_JWT_SECRET, JWKS_URL or JWT_SECRET.',
      )
    }
    const objects = await openResults(config, options.fresh, front.port, log)
    undo.push(() => objects.close())
    await checkStore(objects, log)
    const holdfast = createHoldfast({
      database: database.url,
      ...(reached.directUrl ? { directUrl: reached.directUrl } : {}),
      auth,
      ...open,
      ...priceTypes(open.types, demoCredits(config.credits)),
      objects,
      // The simulator's results are on this machine.
      mirror: { ...mirrorOptions(config), allowLoopback: simulated !== null },
      corsOrigins: config.corsOrigins,
      log,
      ...(config.lock ? { lock: await openLock(reached, log) } : {}),
      bus: await openBus({ ...reached, bus: config.bus ?? 'memory' }, log),
      hot: openHot(config, log),
      ...(config.streamsPerUser ? { streams: { perUser: config.streamsPerUser } } : {}),
      ...(config.lanes ? { engine: { lanes: config.lanes } } : {}),
      ...(config.routeByPlan ? { routeByPlan: config.routeByPlan } : {}),
      ...limitOptions(config),
      ...(config.metricsToken ? { metricsToken: config.metricsToken } : {}),
      ...(config.alertWebhookUrl ? { alertWebhook: { url: config.alertWebhookUrl } } : {}),
      serviceKeys: config.serviceKeys,
      webhooks: config.webhooks,
      // The simulator is on this machine, and so it can call back.
      ...(simulated || config.publicUrl
        ? { publicUrl: config.publicUrl ?? `http://localhost:${front.port}` }
        : {}),
    })
    undo.push(() => holdfast.stop())
    await holdfast.migrate()
    if (devLogin) addDevLogin(holdfast.app, devLogin)
    const studio = studioDirectory()
    if (studio) addStudio(holdfast.app, studio)
    await holdfast.start()
    front.answerWith(holdfast)

    say(
      `Holdfast is at http://localhost:${front.port}${studio ? '' : ' (API only: the studio is not built)'}`,
    )
    say(`  version    ${readVersion()}`)
    for (const line of describeProviders(open, simulated?.url)) say(line)
    say(`  database   ${database.description}`)
    say(`  results    ${describeResults(config)}`)
    say(`  credits    ${describeCredits(demoCredits(config.credits))}`)
    say(`  replicas   ${describeReplicas(config)}`)
    say('  stop       Ctrl-C')
    await told
    say('Stopping …')
  } finally {
    for (const step of undo.reverse()) await step()
  }
}

/** Made with a note for git: it is often inside somebody's repository, and holds a database and a secret. */
async function openDataDir(dataDir: string): Promise<void> {
  const isNew = (await mkdir(dataDir, { recursive: true })) !== undefined
  if (isNew) await writeFile(join(dataDir, '.gitignore'), '*\n')
}

/** Listens at once and asks callers to wait until the rest is up. */
async function openFront(config: Config) {
  let answer: RequestListener = (_request, response) => {
    response
      .writeHead(503, { 'Retry-After': '1', 'Content-Type': 'text/plain' })
      .end('Holdfast is starting.\n')
  }
  const server: Server = await listen((request, response) => answer(request, response), config)
  const address = server.address()
  return {
    server,
    port: typeof address === 'object' && address ? address.port : config.port,
    answerWith(holdfast: Holdfast) {
      answer = holdfast.listener
    },
  }
}

async function openDatabase(config: Config, fresh: boolean, say: (line: string) => void) {
  if (config.databaseUrl !== null) {
    return { url: config.databaseUrl, description: 'your PostgreSQL (DATABASE_URL)', stop: async () => {} }
  }
  const dataDir = join(config.dataDir, 'postgres')
  // Only here, so that a server with its own PostgreSQL needs no embedded one installed.
  const { startEmbeddedPostgres } = await import('../embedded-postgres/start-embedded-postgres.ts')
  const database = await startEmbeddedPostgres({ dataDir, log: say })
  if (fresh) await takeSchemaDown(database.url)
  return {
    url: database.url,
    description: `embedded PostgreSQL, data in ${database.home}`,
    stop: () => database.stop(),
  }
}

async function takeSchemaDown(url: string): Promise<void> {
  const sql = connect(url, { maxConnections: 1 })
  try {
    await rollback(sql, Number.POSITIVE_INFINITY)
  } finally {
    await sql.end()
  }
}

/** What makes things where nobody with a key does. Always there, since earlier runs may have left tasks with it. */
async function simulateKie(config: Config, { fresh, speed }: { fresh: boolean; speed: number }) {
  const { startKieSimulator } = await import('../providers/kie/simulator/start-kie-simulator.ts')
  const stateFile = join(config.dataDir, 'kie-simulator.json')
  if (fresh) await rm(stateFile, { force: true })
  const simulator = await startKieSimulator({
    port: config.simulatorPort,
    apiKey: SIMULATOR_KEY,
    stateFile,
    speed,
  }).catch((error: unknown) => {
    if (errorCode(error) !== 'EADDRINUSE') throw error
    throw new Error(
      `Port ${config.simulatorPort}, for the simulator, is in use. Choose another with --simulator-port or SIMULATOR_PORT.`,
      { cause: error },
    )
  })
  const models = { ...config.providers.vendors.kie.models }
  return {
    provider: createKie({ apiKey: SIMULATOR_KEY, baseUrl: simulator.url, models }),
    url: simulator.url,
    stop: () => simulator.close(),
  }
}

function describeProviders({ types }: OpenProviders, simulatorUrl: string | undefined): string[] {
  return Object.entries(types).map(([type, { provider }]) => {
    const isSimulated = provider === 'kie' && simulatorUrl !== undefined
    return `  ${type.padEnd(10)} ${isSimulated ? `simulated KIE at ${simulatorUrl}` : provider}`
  })
}

/** In a folder, unless the settings name a bucket. */
async function openResults(config: Config, fresh: boolean, port: number, log: Logger): Promise<ObjectStore> {
  const { objects, publicUrl } = config
  if (fresh && objects.kind === 'filesystem') await rm(objects.directory, { recursive: true, force: true })
  return openObjectStore(objects, { baseUrl: publicUrl ?? `http://localhost:${port}`, log })
}

function describeCredits({ initial, prices }: CreditSettings): string {
  const costs = Object.entries(prices ?? {}).map(([type, price]) => `${type} ${price}`)
  return `${initial} for each user; ${costs.join(', ')}`
}

function describeReplicas({ lock, bus, lanes }: Config): string {
  return `lock ${lock ?? 'none'}, bus ${bus ?? 'memory'}, lanes ${lanes?.join(', ') ?? 'all'}`
}

function describeResults({ objects }: Config): string {
  if (objects.kind === 'filesystem') return `copied to ${objects.directory}`
  return `copied to the bucket ${objects.bucket} (${objects.kind === 's3' ? 'S3' : 'Supabase'})`
}

/** Kept, so that whoever was signed in before a restart still is. */
async function readSecret(dataDir: string): Promise<string> {
  const file = join(dataDir, 'dev-login-secret')
  if (!existsSync(file)) await writeFile(file, randomBytes(32).toString('hex'), { mode: 0o600, flag: 'wx' })
  return (await readFile(file, 'utf8')).trim()
}
