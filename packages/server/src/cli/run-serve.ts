import type { Config } from '../config.ts'
import { createHoldfast } from '../create-holdfast.ts'
import { openObjectStore } from '../objects/open-object-store.ts'
import { KEY_VARIABLES } from '../provider-settings.ts'
import { checkStore } from './check-store.ts'
import { describeRunning } from './describe-running.ts'
import { limitOptions } from './limit-options.ts'
import { closeServer, listen } from './listen.ts'
import { mirrorOptions } from './mirror-options.ts'
import { openBus } from './open-bus.ts'
import { openHot } from './open-hot.ts'
import { openLock } from './open-lock.ts'
import { openLog } from './open-log.ts'
import { hasProvider, openProviders } from './open-providers.ts'
import { priceTypes } from './price-types.ts'
import { untilToldToStop } from './until-told-to-stop.ts'

export async function runServe(config: Config, options: { migrate: boolean }): Promise<void> {
  const missing = [
    config.databaseUrl ? null : 'DATABASE_URL (your PostgreSQL)',
    config.auth ? null : 'SUPABASE_URL, SUPABASE_JWT_SECRET, JWKS_URL or JWT_SECRET (how to check tokens)',
    hasProvider(config.providers) ? null : `${KEY_VARIABLES.join(', ')} (your key at one of the providers)`,
  ].filter((line) => line !== null)
  if (!config.databaseUrl || !config.auth || missing.length > 0) {
    throw new Error(
      `"serve" needs more settings:\n  ${missing.join('\n  ')}\nTo try Holdfast without any, run "holdfast dev".`,
    )
  }

  const log = openLog(config, { level: 'info', format: 'json' })
  const open = openProviders(config.providers, { log })
  const { providers, types } = open
  const priced = priceTypes(types, config.credits)
  const objects = await openObjectStore(config.objects, {
    baseUrl: config.publicUrl ?? `http://${config.host}:${config.port}`,
    log,
  })
  await checkStore(objects, log)
  const holdfast = createHoldfast({
    database: config.databaseUrl,
    ...(config.directUrl ? { directUrl: config.directUrl } : {}),
    auth: config.auth,
    providers,
    ...priced,
    objects,
    mirror: mirrorOptions(config),
    corsOrigins: config.corsOrigins,
    lock: await openLock(config, log),
    bus: await openBus(config, log),
    hot: openHot(config, log),
    log,
    ...(config.streamsPerUser ? { streams: { perUser: config.streamsPerUser } } : {}),
    ...(config.lanes ? { engine: { lanes: config.lanes } } : {}),
    ...(config.routeByPlan ? { routeByPlan: config.routeByPlan } : {}),
    ...limitOptions(config),
    ...(config.metricsToken ? { metricsToken: config.metricsToken } : {}),
    ...(config.alertWebhookUrl ? { alertWebhook: { url: config.alertWebhookUrl } } : {}),
    serviceKeys: config.serviceKeys,
    webhooks: config.webhooks,
    ...(config.publicUrl ? { publicUrl: config.publicUrl } : {}),
  })
  const stopped = untilToldToStop()
  if (options.migrate) await holdfast.migrate()
  // Before anybody is let in: what is wrong by now does not mend itself.
  await holdfast.ready()
  const server = await listen(holdfast.listener, config)
  await holdfast.start()
  const running = describeRunning(config, {
    open,
    credits: config.credits !== null,
    lock: config.lock ?? 'advisory',
    bus: config.bus ?? (config.redisUrl ? 'redis' : 'postgres'),
  })
  log.info({ host: config.host, port: config.port, ...running }, 'serving')

  const signal = await stopped
  log.info({ signal }, 'stopping')
  const closed = closeServer(server)
  await holdfast.stop()
  await objects.close()
  await closed
  log.info('stopped')
}
